"""RoPE in HIP, forward and backward; the kernel is in `hip.hip`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import (
    MOST_VECTORS,
    NAMES,
    VECTOR_BYTES,
    Launches,
    aligned,
    at_least_as_wide,
    whole_vectors,
)
from hipward_kernels.ops.launch import compute_units
from hipward_kernels.ops.rope.autograd import function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

LAUNCHES = Launches(Kernel(Path(__file__).with_name("hip.hip"), "rotate", "PPPPqqqqqII"))

THREADS = 256
FEW_THREADS = 64
"""Threads of a block if there is too little work for the whole GPU."""
FEW_FEATURES = 2
"""Features of a vector in that case: more threads with less work each."""


def takes(x: Tensor, cos: Tensor, sin: Tensor) -> bool:
    """Whether 16-byte vectors can read `x`, whose last dimension is features, and the tables, in place."""
    head_dim, pairs = x.shape[-1], cos.shape[-1]
    unit = 2 * VECTOR_BYTES // x.itemsize
    return (
        x.stride(-1) == 1
        and head_dim % unit == 0
        and pairs % (unit // 2) == 0
        and cos.dtype is sin.dtype
        and at_least_as_wide(cos.dtype, x.dtype)
        and cos.is_contiguous()
        and sin.is_contiguous()
        and whole_vectors(x.itemsize, *x.stride()[:-1])
        and aligned(x, cos, sin)
        and x.numel() // unit <= MOST_VECTORS
    )


def table_strides(cos: Tensor) -> tuple[int, int]:
    """Elements from one sequence's table to the next, and from one position to the next."""
    return (cos.stride(0) if cos.dim() == 3 else 0), cos.stride(-2)


@dataclass(frozen=True)
class Shares:
    """Distribution of the work over threads."""

    threads: int
    """Threads per block."""
    vector_bytes: int
    units: int
    """Units of work: two vectors, one unit per thread."""

    @property
    def blocks(self) -> int:
        """Blocks of the launch."""
        return -(-self.units // self.threads)


def shares(count: int, itemsize: int, device: int) -> Shares:
    """The distribution for `count` elements."""
    units = count * itemsize // (2 * VECTOR_BYTES)
    if units > FEW_THREADS * compute_units(device):
        return Shares(THREADS, VECTOR_BYTES, units)
    return Shares(FEW_THREADS, FEW_FEATURES * itemsize, count // (2 * FEW_FEATURES))


def macros(
    dtype: torch.dtype, table: Tensor, layout: Layout, inverse: bool, shape: Sequence[int], share: Shares
) -> dict[str, object]:
    """Macros of the kernels of `rope` and `qkv_rope`; `shape` is `[B, S, H, D]`."""
    batch, _, heads, head_dim = shape
    return {
        "T": NAMES[dtype],
        "C": NAMES[table.dtype],
        "HALF": int(layout == "half"),
        "INVERSE": int(inverse),
        "HEADS": heads,
        "HEAD_DIM": head_dim,
        "PAIRS": table.shape[-1],
        "BATCHED": int(batch > 1),
        "BYTES": share.vector_bytes,
        "THREADS": share.threads,
        "WHOLE": int(share.units % share.threads == 0),
    }


def rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout, inverse: bool) -> Tensor:
    """RoPE, or its inverse."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not y.numel():
        return y
    length = x.shape[1]
    share = shares(y.numel(), x.itemsize, x.get_device())
    launch = LAUNCHES.get(x.get_device(), share.threads, **macros(x.dtype, cos, layout, inverse, x.shape, share))
    addresses = (x.data_ptr(), cos.data_ptr(), sin.data_ptr(), y.data_ptr())
    launch(share.blocks, *addresses, *x.stride()[:3], *table_strides(cos), share.units, length)
    return y


def forward(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """RoPE without autograd."""
    return rotate(x, cos, sin, layout, False)


def backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The inverse rotation. A gradient that vectors cannot read is copied."""
    dy = dy if takes(dy, cos, sin) else dy.clone(memory_format=torch.contiguous_format)
    return rotate(dy, cos, sin, layout, True)


trained = function(forward, backward)


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.rope`."""
    if x.numel() and not takes(x, cos, sin):
        return NotImplemented
    return trained(x, cos, sin, layout) if trains(x) else forward(x, cos, sin, layout)


def rope_backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.rope.BACKWARD`."""
    dy = dy.contiguous()
    return rotate(dy, cos, sin, layout, True) if not dy.numel() or takes(dy, cos, sin) else NotImplemented
