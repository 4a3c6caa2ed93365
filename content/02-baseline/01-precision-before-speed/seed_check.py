# test: run
"""The check that many porting guides print, and three wrong kernels that pass it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F


# anchor: check
def passes_the_usual_check(reference: torch.Tensor, candidate: torch.Tensor) -> bool:
    cosine = F.cosine_similarity(reference.flatten(), candidate.flatten(), dim=0).item()
    max_diff = (reference - candidate).abs().max().item()
    return cosine > 0.99 and max_diff < 1.0 and not candidate.isnan().any().item()
# end: check


def rms_norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


# anchor: wrong
def quarter_of_the_row(x: torch.Tensor) -> torch.Tensor:
    """Estimates the mean square from a quarter of the columns: less to read, so it is fast."""
    quarter = x[..., : x.shape[-1] // 4]
    return x * torch.rsqrt(quarter.pow(2).mean(-1, keepdim=True) + 1e-6)


def last_columns_forgotten(x: torch.Tensor) -> torch.Tensor:
    """A tile size that does not divide the row: the last 16 columns stay zero."""
    y = rms_norm(x)
    y[..., -16:] = 0
    return y


def half_of_it(x: torch.Tensor) -> torch.Tensor:
    """Off by a factor of two, on activations that are small to begin with."""
    return rms_norm(x) / 2
# end: wrong


def main() -> None:
    torch.manual_seed(42)
    x = torch.rand(64, 4096) * 2 - 1
    cases: list[tuple[Callable[[torch.Tensor], torch.Tensor], float]] = [
        (quarter_of_the_row, 1.0),
        (last_columns_forgotten, 0.5),
        (half_of_it, 0.1),
    ]
    for wrong, weight in cases:
        accepted = passes_the_usual_check(weight * rms_norm(x), weight * wrong(x))
        print(f"{wrong.__name__:24} accepted: {accepted}")
        assert accepted


if __name__ == "__main__":
    main()
