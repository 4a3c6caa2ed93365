# fails: case_scale, case_one_element, case_small_error_everywhere, case_better_than_eager
# message: An absolute limit accepts everything where outputs are small.
"""A precision gate for one output: is the candidate as accurate as the code that it replaces?"""

import math

import torch


def rounding(dtype: torch.dtype, longest_sum: int) -> float:
    """Rounding allowance as a fraction of the output's size: one rounding of the result, and those of
    a sum of `longest_sum` numbers that is accumulated in float32 or finer."""
    # hole: rounding
    one = torch.finfo(dtype).eps / 2
    in_sums = min(one, torch.finfo(torch.float32).eps / 2)
    # Rounding errors have random signs, so those of a sum grow with the square root of its length.
    return one + math.sqrt(longest_sum) / 2 * in_sums
    # end: rounding


def largest(x: torch.Tensor) -> float:
    return x.abs().max().item()


def root_mean_square(x: torch.Tensor) -> float:
    return x.square().mean().sqrt().item()


def refuse(
    reference: torch.Tensor, eager: torch.Tensor, candidate: torch.Tensor, longest_sum: int
) -> str | None:
    """Reason to reject the candidate's output, or None. `reference` is in float64."""
    # hole: form
    if candidate.shape != eager.shape or candidate.dtype != eager.dtype:
        return f"returned {candidate.dtype} {tuple(candidate.shape)}"
    # Before any comparison of errors: every comparison with NaN is false.
    if not candidate.isfinite().all():
        return "contains NaN or Inf"
    # end: form
    slack = rounding(eager.dtype, longest_sum)
    for name, size in (("largest", largest), ("RMS", root_mean_square)):
        # hole: errors
        # Both distances are from the reference: eager is inexact too.
        mine = size(eager.double() - reference)
        yours = size(candidate.double() - reference)
        limit = 0.01
        # end: errors
        if yours > limit:
            return f"{name} error {yours:.1e}, eager's {mine:.1e}, limit {limit:.1e}"
    return None
