"""Compares a version's logits, loss and gradients with float64, next to the baseline's own error.

`… validate_numerical_accuracy --baseline v1 --optimized v4 --tolerance 1e-4`. The reference is V1 in float64 with the
same weights. A version passes when each error is within the tolerance, or at most twice the baseline's own: no 16-bit
result is closer to float64 than its format allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hipward_kernels.models.config import VERSIONS
from hipward_kernels.models.data import Batch, batches
from hipward_kernels.models.training import autocast, build, matmul_precision
from hipward_kernels.models.weights import gradients, separate
from hipward_kernels.numerics.limit import ERROR_RATIO
from hipward_kernels.workshop import options as common

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hipward_kernels.models.llama import TinyLlama
    from hipward_kernels.workshop.options import Subject

SMALLEST_COSINE = 0.99
"""The limit of the precision check in the optimization workflow."""


@dataclass(frozen=True)
class Error:
    """The error of one tensor of a version."""

    name: str
    relative: float
    """Norm of the difference from float64 divided by the reference's norm."""
    baseline: float
    """The same for the baseline."""
    cosine: float

    def passes(self, tolerance: float) -> bool:
        """Whether the error is acceptable; NaN is not."""
        return self.cosine >= SMALLEST_COSINE and self.relative <= max(tolerance, ERROR_RATIO * self.baseline)


def outputs(subject: Subject, batch: Batch, weights: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """Logits, loss and every gradient, named after the unjoined parameters."""
    trainer = build(subject.config, subject.switches, device, subject.precision, weights=weights)
    return computed(trainer.model, subject, batch, device)


def reference(subject: Subject, batch: Batch, weights: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """The same, computed by V1 in float64."""
    trainer = build(subject.config, VERSIONS["v1"], device, weights=weights)
    return computed(trainer.model.double(), None, batch, device)


def computed(model: TinyLlama, subject: Subject | None, batch: Batch, device: torch.device) -> dict[str, Tensor]:
    """Runs a model forward and backward."""
    with autocast("float32" if subject is None else subject.precision, device):
        with torch.no_grad():
            logits = model(batch.tokens)
        loss = model(*batch)
    loss.backward()
    found = {"logits": logits, "loss": loss.detach(), **gradients(model, model.config)}
    for name in separate(dict(model.named_parameters()), model.config):
        found.setdefault(name, torch.full((), torch.nan))
    return found


def compare(expected: Mapping[str, Tensor], baseline: Mapping[str, Tensor], got: Mapping[str, Tensor]) -> list[Error]:
    """The error of each tensor, largest first."""
    errors = []
    for name, exact in expected.items():
        flat = exact.double().flatten()
        mine = got[name].double().flatten().expand_as(flat)
        theirs = baseline[name].double().flatten().expand_as(flat)
        own, other = (float((values - flat).norm() / flat.norm()) for values in (mine, theirs))
        errors.append(Error(name, own, other, float(torch.nn.functional.cosine_similarity(mine, flat, dim=0))))
    return sorted(errors, key=lambda error: (math.isnan(error.relative), error.relative), reverse=True)


def main(arguments: Sequence[str] | None = None) -> list[Error]:
    """Entry point."""
    parser = common.parser("validate_numerical_accuracy", "Compares a version with float64, beside another's error.")
    common.add_switches(parser)
    parser.add_argument("--baseline", type=common.version_of, default="v1", help="version, or its script")
    parser.add_argument("--optimized", type=common.version_of, default="v4", help="version, or its script")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="relative error that always passes")
    options = parser.parse_args(arguments)
    device = common.device(options)
    plain = common.parser("", "").parse_args([])
    vars(plain).update({name: value for name, value in vars(options).items() if name not in ("on", "off")})
    plain.enable_all_fusion = False
    baseline, optimized = common.subject(plain, options.baseline), common.subject(options, options.optimized)
    batch = next(batches(optimized.config, optimized.batch_size, optimized.sequence_length, device, options.seed))
    weights = build(baseline.config, VERSIONS["v1"], device, seed=options.seed).model.state_dict()
    with matmul_precision(optimized.precision):
        errors = compare(
            reference(optimized, batch, weights, device),
            outputs(baseline, batch, weights, device),
            outputs(optimized, batch, weights, device),
        )
    rows = [
        [
            e.name,
            f"{e.relative:.2e}",
            f"{e.baseline:.2e}",
            f"{e.cosine:.6f}",
            "yes" if e.passes(options.tolerance) else "NO",
        ]
        for e in errors
    ]
    print(common.table(["tensor", optimized.version, baseline.version, "cosine", "passes"], rows))
    failed = [error.name for error in errors if not error.passes(options.tolerance)]
    if failed:
        raise SystemExit(f"{optimized.version} in {optimized.precision} is wrong in {', '.join(failed)}")
    print(f"{optimized.version} in {optimized.precision}: all {len(errors)} tensors pass")
    return errors


if __name__ == "__main__":
    main()
