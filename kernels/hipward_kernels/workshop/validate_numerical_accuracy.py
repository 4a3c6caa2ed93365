"""Compares a version's logits, loss and gradients with float64, next to the baseline's own error.

`… validate_numerical_accuracy --baseline v1 --optimized v4`. The reference is V1 in float64 with the same weights. The
limit is that of the precision gate (`numerics/limit.py`): twice the baseline's own error, plus a rounding allowance
that depends on the dtype's eps and on the length of the longest sum of forward and backward. Errors are norms of
differences relative to the norm of the reference. `--tolerance 1e-4` accepts a fixed relative error in addition.
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
from hipward_kernels.numerics.limit import Limit
from hipward_kernels.numerics.sums import LongestSum
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
    allowed: float
    """The largest relative error that passes."""

    @property
    def passes(self) -> bool:
        """Whether the error is acceptable; NaN is not."""
        return self.cosine >= SMALLEST_COSINE and self.relative <= self.allowed

    @property
    def limit_used(self) -> float:
        """Share of the allowed error."""
        return self.relative / self.allowed if self.allowed else math.inf if self.relative else 0.0


def outputs(subject: Subject, batch: Batch, weights: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """Logits, loss and every gradient, named after the unjoined parameters."""
    trainer = build(subject.config, subject.switches, device, subject.precision, weights=weights)
    return computed(trainer.model, subject, batch, device)


def reference(
    subject: Subject, batch: Batch, weights: Mapping[str, Tensor], device: torch.device
) -> tuple[dict[str, Tensor], Limit]:
    """The same, computed by V1 in float64, and the limit of errors."""
    trainer = build(subject.config, VERSIONS["v1"], device, weights=weights)
    with LongestSum() as sums:
        exact = computed(trainer.model.double(), None, batch, device)
    # Weights and the outputs of autocast are float32; the products between them are not.
    precision = torch.bfloat16 if subject.precision == "bfloat16" else torch.float32
    return exact, Limit(sums.length, precision)


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


def compare(
    expected: Mapping[str, Tensor],
    baseline: Mapping[str, Tensor],
    got: Mapping[str, Tensor],
    limit: Limit,
    tolerance: float = 0.0,
) -> list[Error]:
    """The error of each tensor, largest first. `tolerance` is a relative error that always passes."""
    errors = []
    for name, exact in expected.items():
        flat = exact.double().flatten()
        mine = got[name].double().flatten().expand_as(flat)
        theirs = baseline[name].double().flatten().expand_as(flat)
        own, other = (float((values - flat).norm() / flat.norm()) for values in (mine, theirs))
        cosine = float(torch.nn.functional.cosine_similarity(mine, flat, dim=0))
        allowed = max(tolerance, limit.allowed(got[name].dtype, other, size=1.0))
        errors.append(Error(name, own, other, cosine, allowed))
    return sorted(errors, key=lambda error: (math.isnan(error.relative), error.relative), reverse=True)


def main(arguments: Sequence[str] | None = None) -> list[Error]:
    """Entry point."""
    parser = common.parser("validate_numerical_accuracy", "Compares a version with float64, beside another's error.")
    common.add_switches(parser)
    parser.add_argument("--baseline", type=common.version_of, default="v1", help="version, or its script")
    parser.add_argument("--optimized", type=common.version_of, default="v4", help="version, or its script")
    parser.add_argument("--tolerance", type=float, default=0.0, help="relative error that always passes")
    options = parser.parse_args(arguments)
    device = common.device(options)
    plain = common.parser("", "").parse_args([])
    vars(plain).update({name: value for name, value in vars(options).items() if name not in ("on", "off")})
    plain.enable_all_fusion = False
    baseline, optimized = common.subject(plain, options.baseline), common.subject(options, options.optimized)
    batch = next(batches(optimized.config, optimized.batch_size, optimized.sequence_length, device, options.seed))
    weights = build(baseline.config, VERSIONS["v1"], device, seed=options.seed).model.state_dict()
    with matmul_precision(optimized.precision):
        exact, limit = reference(optimized, batch, weights, device)
        errors = compare(
            exact,
            outputs(baseline, batch, weights, device),
            outputs(optimized, batch, weights, device),
            limit,
            options.tolerance,
        )
    rows = [
        [
            e.name,
            f"{e.relative:.2e}",
            f"{e.baseline:.2e}",
            f"{e.cosine:.6f}",
            f"{e.allowed:.2e}",
            f"{e.limit_used:.0%}",
            "yes" if e.passes else "NO",
        ]
        for e in errors
    ]
    print(common.table(["tensor", optimized.version, baseline.version, "cosine", "allowed", "used", "passes"], rows))
    failed = [error.name for error in errors if not error.passes]
    if failed:
        raise SystemExit(f"{optimized.version} in {optimized.precision} is wrong in {', '.join(failed)}")
    print(f"{optimized.version} in {optimized.precision}: all {len(errors)} tensors pass")
    return errors


if __name__ == "__main__":
    main()
