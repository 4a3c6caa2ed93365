"""8-bit matrices with a scale for each row, for both FP8 formats of AMD GPUs."""

import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values in `dtype` and float32 scales `[rows, 1]`, so that values · scales is close to `x`."""
    # hole: scale
    largest = 448.0
    scales = torch.ones(x.shape[0], 1)
    # end: scale
    # hole: round
    values = x.to(dtype)
    # end: round
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix in e4m3fn, converted exactly to e4m3fnuz (gfx942). It contains no NaN."""
    # hole: convert
    return values.view(torch.float8_e4m3fnuz), scales
    # end: convert
