"""A precision gate for one output: is the candidate as accurate as the code that it replaces?"""

import math

import torch


def rounding(dtype: torch.dtype, longest_sum: int) -> float:
    """Rounding allowance as a fraction of the output's size: one rounding of the result, and those of
    a sum of `longest_sum` numbers that is accumulated in float32 or finer."""
    # hole: rounding
    return ...
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
    ...
    # end: form
    slack = rounding(eager.dtype, longest_sum)
    for name, size in (("largest", largest), ("RMS", root_mean_square)):
        # hole: errors
        mine, yours, limit = ..., ..., ...
        # end: errors
        if yours > limit:
            return f"{name} error {yours:.1e}, eager's {mine:.1e}, limit {limit:.1e}"
    return None
