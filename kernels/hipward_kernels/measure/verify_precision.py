"""Checks an optimized version: `python -m hipward_kernels.measure.verify_precision FILE [--variant compile]`.

Two rules must hold. That of the porting guides: cosine similarity with eager over 0.99, largest difference under 1.0,
no NaN. It is weak: a result that is 10 % too large has a cosine of 1. And that of the harness: errors against float64
of at most twice eager's own, plus a rounding allowance (`numerics/limit.py`).
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.harness import precision
from hipward_kernels.harness.reference import Reference
from hipward_kernels.harness.trials import Trials, results_of
from hipward_kernels.harness.variants import (
    CONTROL,
    EAGER,
    VARIANTS,
    Origin,
    UnavailableError,
    build,
    forget_compilations,
)
from hipward_kernels.measure import subject
from hipward_kernels.numerics.distance import distance, is_finite
from hipward_kernels.numerics.nested import cloned

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import OutputError

MIN_COSINE = 0.99
MAX_DIFFERENCE = 1.0

CHOICES = tuple(variant for variant in VARIANTS if variant not in (EAGER, CONTROL))


@dataclass(frozen=True)
class Verified:
    """Result of both rules."""

    cosine: float
    """Cosine similarity with eager, the lowest of all outputs and seeds; NaN if an output is not finite."""
    max_difference: float
    """Largest difference from eager; infinite if an output contains NaN or infinity."""
    has_nan: bool
    guides_reason: str | None
    """Why the rule of the guides fails, or None."""
    float64_reason: str | None
    """Why the errors against float64 are too large, or None."""
    outputs: list[OutputError]

    @property
    def passed(self) -> bool:
        """Whether both rules hold."""
        return self.guides_reason is None and self.float64_reason is None


def verify_precision(optimized: Callable[..., Any], snippet: Snippet) -> Verified:
    """Compares an optimized version with the snippet's `Model`, on fresh inputs of several seeds."""
    model = snippet.build("Model")
    origin = Origin(snippet, model, snippet.inputs(0))
    trials = Trials(snippet, model, Reference(model, origin.copy, origin.inputs))
    cosine, largest, has_nan = 1.0, 0.0, False
    reason = None
    for trial in trials:
        outputs = results_of(optimized, cloned(trial.inputs), trial.seed)
        for name, eager in trial.eager.items():
            got = outputs.get(name)
            if not isinstance(eager, Tensor):
                continue
            if not isinstance(got, Tensor) or got.shape != eager.shape:
                reason = f"output {name} is missing or has another shape"
                continue
            if not is_finite(got):
                has_nan, cosine, largest = True, math.nan, math.inf
                continue
            apart = distance(got, eager)
            cosine, largest = min(cosine, apart.cosine), max(largest, apart.max_abs)
    if has_nan:
        reason = "an output contains NaN or infinity"
    elif reason is None and not cosine > MIN_COSINE:
        reason = f"the cosine similarity with eager is {cosine:.6f}, over {MIN_COSINE} is needed"
    elif reason is None and not largest < MAX_DIFFERENCE:
        reason = f"the largest difference from eager is {largest:.3g}, under {MAX_DIFFERENCE:g} is needed"
    checked = precision.check(optimized, trials)
    return Verified(cosine, largest, has_nan, reason, checked.reason, checked.outputs)


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.measure.verify_precision", description=__doc__)
    subject.add_arguments(parser)
    parser.add_argument("--variant", default="compile", choices=CHOICES)
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    forget_compilations()
    try:
        variant = build(options.variant, Origin(snippet, snippet.build("Model"), snippet.inputs(0)), ())
    except UnavailableError as error:
        parser.exit(1, f"{error}\n")
    with torch.no_grad():
        found = verify_precision(variant.call, snippet)
    print(f"cosine similarity  {found.cosine:.6f}   (guides: over {MIN_COSINE})")
    print(f"largest difference {found.max_difference:.6g}   (guides: under {MAX_DIFFERENCE:g})")
    print(f"NaN or infinity    {'yes' if found.has_nan else 'no'}")
    for out in found.outputs:
        used = "" if out.limit_used is None else f", {out.limit_used:.0%} of the limit"
        print(f"output {out.name}: rms error {out.rms:.3g} against float64, eager's own {out.eager_rms:.3g}{used}")
    for rule, reason in (("guides", found.guides_reason), ("float64", found.float64_reason)):
        print(f"{rule}: {'passed' if reason is None else f'FAILED, {reason}'}")
    sys.exit(0 if found.passed else 1)


if __name__ == "__main__":
    main()
