"""The lower bound of an operation's time on a GPU.

The roofline model (Williams, Waterman and Patterson 2009, https://doi.org/10.1145/1498765.1498785): an operation that
does `flops` operations and moves `bytes` bytes takes at least the longer of `flops / peak rate` and
`bytes / bandwidth`. Rates are those of data sheets (`gpus.toml`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

    from hipward_kernels.gpu.facts import Product

Bound = Literal["memory", "compute"]


@dataclass(frozen=True)
class Floor:
    """The shortest possible time of an operation on a device."""

    seconds: float
    bound: Bound
    """The limit that decides it."""


def floor(product: Product, dtype: torch.dtype, bytes_moved: float, flops: float) -> Floor | None:
    """The roofline of an operation; None if the table lacks a rate that it needs.

    Args:
        product: The GPU.
        dtype: Data type of the factors of matrix products. float32 is computed without xf32 or TF32.
        bytes_moved: Each input read once and each output written once.
        flops: Floating-point operations.
    """
    if product.bytes_per_second is None:
        return None
    memory = bytes_moved / product.bytes_per_second
    peak = product.matrix_peak(dtype) if flops else None
    if flops and peak is None:
        return None
    compute = flops / peak if peak else 0.0
    return Floor(memory, "memory") if memory >= compute else Floor(compute, "compute")
