"""RoPE in HIP, forward and backward; the kernel is in `hip.hip`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import (
    MOST_BLOCKS,
    NAMES,
    VECTOR_BYTES,
    Launches,
    aligned,
    at_least_as_wide,
    whole_vectors,
)
from hipward_kernels.ops.rope.autograd import function

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

LAUNCHES = Launches(Kernel(Path(__file__).with_name("hip.hip"), "rotate", "PPPPqqqqqIIIIi"))

THREADS = 256


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
        and x.numel() // unit <= MOST_BLOCKS
    )


def table_strides(cos: Tensor) -> tuple[int, int]:
    """Elements from one sequence's table to the next, and from one position to the next."""
    return (cos.stride(0) if cos.dim() == 3 else 0), cos.stride(-2)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout, inverse: bool) -> Tensor:
    """RoPE, or the other way round."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not y.numel():
        return y
    _, length, heads, head_dim = x.shape
    head_units = head_dim * x.itemsize // (2 * VECTOR_BYTES)
    units = y.numel() // head_dim * head_units
    half = int(layout == "half")
    launch = LAUNCHES.get(
        x.get_device(),
        THREADS,
        T=NAMES[x.dtype],
        C=NAMES[cos.dtype],
        HALF=half,
        INVERSE=int(inverse),
        THREADS=THREADS,
    )
    addresses = (x.data_ptr(), cos.data_ptr(), sin.data_ptr(), y.data_ptr())
    sizes = (units, length, heads, head_units, cos.shape[-1])
    launch(-(-units // THREADS), *addresses, *x.stride()[:3], *table_strides(cos), *sizes)
    return y


def forward(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """RoPE without a graph."""
    return rotate(x, cos, sin, layout, False)


def backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The other way round. A gradient may be a view that vectors cannot read."""
    dy = dy if takes(dy, cos, sin) else dy.clone(memory_format=torch.contiguous_format)
    return rotate(dy, cos, sin, layout, True)


trained = function(forward, backward)


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.rope`."""
    if x.numel() and not takes(x, cos, sin):
        return NotImplemented
    return trained(x, cos, sin, layout) if trains(x) else forward(x, cos, sin, layout)
