"""Rounding rows to 8 bits in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST_SCALE = 1e-12
"""Scale of a row of zeros."""


def quantize_rows(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values and scales; see `hipward_kernels.quantization.quantize`."""
    largest = torch.finfo(dtype).max
    wide = x.float()
    scales = (wide.abs().amax(-1, keepdim=True) / largest).clamp(min=SMALLEST_SCALE)
    # One division for a row, because a division takes several instructions on a GPU. The additional rounding of the
    # product, 2⁻²⁴, is far below the format's 2⁻⁴. Numbers beyond the largest one would become NaN, because the formats
    # have no infinity.
    return (wide * scales.reciprocal()).clamp(-largest, largest).to(dtype), scales
