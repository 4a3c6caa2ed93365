# test: run
"""A precision gate: is the candidate as accurate as the code it replaces?

Both are compared with the same model in float64. The candidate's error may be at most twice
eager's error, which users already accept, plus a rounding allowance.
"""

from __future__ import annotations

import copy
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

Inputs = Sequence[torch.Tensor]


# anchor: errors
@dataclass(frozen=True)
class Errors:
    """Distance of an output from the reference, computed in float64."""

    cosine: float
    max_abs: float
    rms: float

    @classmethod
    def between(cls, reference: torch.Tensor, output: torch.Tensor) -> Errors:
        want, got = reference.double().flatten(), output.double().flatten()
        difference = got - want
        return cls(
            cosine=F.cosine_similarity(want, got, dim=0).item(),
            max_abs=largest(difference),
            rms=root_mean_square(difference),
        )


def largest(x: torch.Tensor) -> float:
    return x.double().abs().max().item()


def root_mean_square(x: torch.Tensor) -> float:
    return x.double().square().mean().sqrt().item()
# end: errors


# anchor: refuse
def refuse(
    reference: torch.Tensor, eager: torch.Tensor, candidate: torch.Tensor, longest_sum: int
) -> str | None:
    """Reason to reject this output, or None if it is acceptable."""
    if candidate.shape != eager.shape or candidate.dtype != eager.dtype:
        return f"returned {candidate.dtype} {tuple(candidate.shape)}"
    if not candidate.isfinite().all():
        return "contains NaN or Inf"
    if not candidate.any() and eager.any():
        return "is all zero"
    mine, yours = Errors.between(reference, eager), Errors.between(reference, candidate)
    slack = rounding(eager.dtype, longest_sum)
    limit = 2 * mine.max_abs + slack * largest(reference)
    if yours.max_abs > limit:
        return f"max error {yours.max_abs:.1e}, eager's {mine.max_abs:.1e}, limit {limit:.1e}"
    limit = 2 * mine.rms + slack * root_mean_square(reference)
    if yours.rms > limit:
        return f"RMS error {yours.rms:.1e}, eager's {mine.rms:.1e}, limit {limit:.1e}"
    return None


def rounding(dtype: torch.dtype, longest_sum: int) -> float:
    """Rounding allowance, as a fraction of the output's size: one rounding of the result, plus
    those of a sum of `longest_sum` numbers that is accumulated in float32 or finer."""
    one = torch.finfo(dtype).eps / 2
    in_sums = min(one, torch.finfo(torch.float32).eps / 2)
    return one + math.sqrt(longest_sum) / 2 * in_sums
# end: refuse


# anchor: gate
def gate(
    model: nn.Module,
    candidate: Callable[..., torch.Tensor],
    make_inputs: Callable[[], Inputs],
    longest_sum: int = 4096,
    seeds: Sequence[int] | None = None,
) -> str | None:
    """Compare on new seeds and return the first rejection, or None. Call it before any timing."""
    exact = copy.deepcopy(model).double()
    for seed in fresh_seeds() if seeds is None else seeds:
        torch.manual_seed(seed)
        inputs = make_inputs()
        before = [tensor.clone() for tensor in inputs]
        with torch.no_grad():
            reference = exact(*(in_double(tensor) for tensor in inputs))
            eager, output = model(*inputs), candidate(*inputs)
        if not all(map(torch.equal, before, inputs)):
            return "changed its inputs"
        reason = refuse(reference, eager, output, longest_sum)
        if reason is not None:
            return f"seed {seed}: {reason}"
    return None


def fresh_seeds(count: int = 5) -> list[int]:
    """Seeds that the author of the candidate could not know."""
    return [secrets.randbits(31) for _ in range(count)]
# end: gate


def in_double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def main() -> None:
    from fused_wrong import Model, ModelNew, get_inputs
    from seed_check import passes_the_usual_check

    model, candidate = Model(4096), ModelNew(4096)
    candidate.load_state_dict(model.state_dict())
    (x,) = get_inputs()
    assert passes_the_usual_check(model(x), candidate(x)), "the usual check should accept it"
    reason = gate(model, candidate, get_inputs)
    assert reason is not None, "the gate should reject it"
    print("rejected:", reason)

    honest = nn.RMSNorm(4096, eps=1e-6)
    honest.load_state_dict(model.state_dict())
    assert gate(model, honest, get_inputs) is None
    print("accepted: torch.nn.RMSNorm")

    low = copy.deepcopy(model).bfloat16()
    reason = gate(model, lambda x: low(x.bfloat16()).float(), get_inputs)
    assert reason is not None, "the gate should reject bfloat16 arithmetic in a float32 model"
    print("rejected:", reason)

    model, honest = model.bfloat16(), honest.bfloat16()
    assert gate(model, honest, lambda: [x.bfloat16() for x in get_inputs()]) is None
    print("accepted: torch.nn.RMSNorm in bfloat16")


if __name__ == "__main__":
    main()
