"""RoPE in HIP, forward and backward; the kernel is in `hip.hip`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import training
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
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

LAUNCHES = Launches(Kernel(Path(__file__).with_name("hip.hip"), "rotate", "PPPPqqqqqII"))

THREADS = 256
FEW_THREADS = 64
"""Threads of a block if there is too little work for the whole GPU."""
FEW_FEATURES = 2
"""Features of a vector in that case: more threads with less work each."""


def fits(dtype: torch.dtype, table: torch.dtype, head_dim: int, pairs: int, count: int) -> bool:
    """Whether heads of a tensor with `count` elements, and the pairs of a table, are whole 16-byte vectors."""
    unit = 2 * VECTOR_BYTES // dtype.itemsize
    return (
        head_dim % unit == 0
        and pairs % (unit // 2) == 0
        and at_least_as_wide(table, dtype)
        and count // unit <= MOST_VECTORS
    )


def takes(x: Tensor, cos: Tensor, sin: Tensor) -> bool:
    """Whether 16-byte vectors can read `x`, whose last dimension is features, and the tables, in place."""
    return (
        x.stride(-1) == 1
        and fits(x.dtype, cos.dtype, x.shape[-1], cos.shape[-1], x.numel())
        and cos.dtype is sin.dtype
        and cos.is_contiguous()
        and sin.is_contiguous()
        and whole_vectors(x.itemsize, *x.stride()[:-1])
        and aligned(x, cos, sin)
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


@dataclass(frozen=True)
class Form:
    """What the kernels of `rope` and `qkv_rope` are compiled for."""

    dtype: torch.dtype
    table: torch.dtype
    """Of the tables."""
    half: bool
    """The layout."""
    heads: int
    head_dim: int
    pairs: int
    batched: bool
    """Whether there is more than one sequence."""


def form_of(dtype: torch.dtype, table: Tensor, layout: Layout, shape: Sequence[int]) -> Form:
    """The form for tensors of `[B, S, H, D]`."""
    batch, _, heads, head_dim = shape
    return Form(dtype, table.dtype, layout == "half", heads, head_dim, table.shape[-1], batch > 1)


def macros(form: Form, inverse: bool, share: Shares) -> dict[str, object]:
    """Macros of the kernels of `rope` and `qkv_rope`."""
    return {
        "T": NAMES[form.dtype],
        "C": NAMES[form.table],
        "HALF": int(form.half),
        "INVERSE": int(inverse),
        "HEADS": form.heads,
        "HEAD_DIM": form.head_dim,
        "PAIRS": form.pairs,
        "BATCHED": int(form.batched),
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
    form = form_of(x.dtype, cos, layout, x.shape)
    launch = LAUNCHES.get(x.get_device(), share.threads, **macros(form, inverse, share))
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


def prepare(launches: Launches) -> Callable[[bool, Sequence[int]], tuple[int, ...] | None]:
    """The function that selects the kernels of `rope` or `qkv_rope` for `training.cpp`."""

    def prepared(inverse: bool, numbers: Sequence[int]) -> tuple[int, ...] | None:
        _, _, _, device, dtype_number, table_number, rows, head_dim, heads, kv_heads, pairs, half, batched = numbers
        dtype, table, count = training.DTYPES.get(dtype_number), training.DTYPES.get(table_number), rows * head_dim
        if dtype is None or table is None or not fits(dtype, table, head_dim, pairs, count):
            return None
        share = shares(count, dtype.itemsize, device)
        form = Form(dtype, table, bool(half), heads, head_dim, pairs, bool(batched))
        split = {"KV_HEADS": kv_heads} if kv_heads else {}
        launch = launches.get(device, share.threads, **macros(form, inverse, share), **split)
        return launch.handle, share.blocks, share.threads, share.units

    return prepared


training.register("rope", prepare(LAUNCHES))
trained = function(forward, backward)


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.rope`."""
    if x.numel() and not takes(x, cos, sin):
        return NotImplemented
    if not trains(x):
        return forward(x, cos, sin, layout)
    y = training.run("rope", x, cos, sin, layout == "half")
    return trained(x, cos, sin, layout) if y is None else y


def rope_backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.rope.BACKWARD`."""
    dy = dy.contiguous()
    return rotate(dy, cos, sin, layout, True) if not dy.numel() or takes(dy, cos, sin) else NotImplemented
