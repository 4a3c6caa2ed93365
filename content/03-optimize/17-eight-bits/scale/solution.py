"""8-bit matrices with a scale for each row, for both FP8 formats of AMD GPUs."""

import torch
from torch import Tensor


def quantize(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values in `dtype` and float32 scales `[rows, 1]`, so that values · scales is close to `x`."""
    # hole: scale
    # The largest number of a row becomes the largest of the format: 448 in e4m3fn, 240 in e4m3fnuz.
    largest = torch.finfo(dtype).max
    scales = (x.float().abs().amax(-1, keepdim=True) / largest).clamp(min=1e-12)
    # end: scale
    # hole: round
    # Rounding of the division can exceed the largest number, and the formats have no infinity.
    values = (x.float() / scales).clamp(-largest, largest).to(dtype)
    # end: round
    return values, scales


def to_fnuz(values: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix in e4m3fn, converted exactly to e4m3fnuz (gfx942). It contains no NaN."""
    # hole: convert
    # The same bits mean half the value. The bits of -0 mean NaN there, so they become those of 0.
    bits = values.view(torch.uint8)
    bits = torch.where(bits == 0x80, torch.zeros_like(bits), bits)
    return bits.view(torch.float8_e4m3fnuz), scales * 2
    # end: convert
