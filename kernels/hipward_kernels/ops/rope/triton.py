"""RoPE in Triton: one pass over memory.

A program processes one position of one sequence: it reads the table's row once for all heads. The backward is the same
kernel with the sine negated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.launch import launch, launch_device, next_power_of_two, warp_size_of
from hipward_kernels.ops.rope.autograd import function

if TYPE_CHECKING:
    from hipward_kernels.ops.rope.layout import Layout

TILE = 4096
"""Elements of a program: 16 per thread, as in the row-wise kernels."""


@triton.jit
def table_row(cos_ptr, sin_ptr, row, pairs, INVERSE: tl.constexpr, PAIRS: tl.constexpr):
    """Cosines and sines of one position, as a tile of one head."""
    pair = tl.arange(0, PAIRS)
    cos = tl.load(cos_ptr + row + pair, mask=pair < pairs, other=0.0).to(tl.float32)[None, :]
    sin = tl.load(sin_ptr + row + pair, mask=pair < pairs, other=0.0).to(tl.float32)[None, :]
    return cos, -sin if INVERSE else sin


@triton.jit
def turn(
    x_ptr,
    y_ptr,
    x_head_stride,
    y_head_stride,
    first_head,
    heads,
    head_dim,
    pairs,
    cos,
    sin,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    REST: tl.constexpr,
):
    """Rotates `HEADS` heads of a position, and copies their features beyond `2 * pairs`."""
    head = first_head + tl.arange(0, HEADS)
    live = (head < heads)[:, None]
    x_ptr += head[:, None].to(tl.int64) * x_head_stride
    y_ptr += head[:, None].to(tl.int64) * y_head_stride
    if HALF:
        pair = tl.arange(0, PAIRS)
        mask = live & (pair < pairs)[None, :]
        a = tl.load(x_ptr + pair[None, :], mask=mask, other=0.0).to(tl.float32)
        b = tl.load(x_ptr + (pair + pairs)[None, :], mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + pair[None, :], (a * cos - b * sin).to(y_ptr.dtype.element_ty), mask=mask)
        tl.store(y_ptr + (pair + pairs)[None, :], (b * cos + a * sin).to(y_ptr.dtype.element_ty), mask=mask)
    else:
        # Loaded contiguously and separated in registers, because loads of every second element would be narrow.
        feature = tl.arange(0, 2 * PAIRS)
        mask = live & (feature < 2 * pairs)[None, :]
        x = tl.load(x_ptr + feature[None, :], mask=mask, other=0.0).to(tl.float32)
        a, b = tl.split(tl.reshape(x, (HEADS, PAIRS, 2)))
        y = tl.interleave(a * cos - b * sin, b * cos + a * sin)
        tl.store(y_ptr + feature[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)
    if REST > 0:
        rest = 2 * pairs + tl.arange(0, REST)
        mask = live & (rest < head_dim)[None, :]
        tl.store(y_ptr + rest[None, :], tl.load(x_ptr + rest[None, :], mask=mask), mask=mask)


@triton.jit
def rope_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    x_batch_stride,
    x_position_stride,
    x_head_stride,
    y_batch_stride,
    y_position_stride,
    y_head_stride,
    table_batch_stride,
    table_position_stride,
    length,
    heads,
    head_dim,
    pairs,
    INVERSE: tl.constexpr,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    REST: tl.constexpr,
):
    """Program `(t, g)` processes the heads of group `g` at token `t` of `[B, S]`."""
    batch = (tl.program_id(0) // length).to(tl.int64)
    position = (tl.program_id(0) % length).to(tl.int64)
    table = batch * table_batch_stride + position * table_position_stride
    cos, sin = table_row(cos_ptr, sin_ptr, table, pairs, INVERSE, PAIRS)
    turn(
        x_ptr + batch * x_batch_stride + position * x_position_stride,
        y_ptr + batch * y_batch_stride + position * y_position_stride,
        x_head_stride,
        y_head_stride,
        tl.program_id(1) * HEADS,
        heads,
        head_dim,
        pairs,
        cos,
        sin,
        HALF,
        HEADS,
        PAIRS,
        REST,
    )


def tile(heads: int, head_dim: int, pairs: int) -> dict[str, int]:
    """Constants of a launch: heads and pairs per program, and the number of copied features, padded."""
    width = next_power_of_two(pairs)
    rest = head_dim - 2 * pairs
    at_once = max(min(next_power_of_two(heads), TILE // (2 * width)), 1)
    return {"HEADS": at_once, "PAIRS": width, "REST": next_power_of_two(rest) if rest else 0}


def tile_warps(constants: dict[str, int], warp_size: int) -> int:
    """Warps of a program: 16 elements per thread."""
    return min(max(constants["HEADS"] * constants["PAIRS"] * 2 // 16 // warp_size, 1), 8)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout, inverse: bool) -> Tensor:
    """RoPE, or its inverse."""
    x = with_features(x)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel() == 0:
        return y
    batch, length, heads, head_dim = x.shape
    pairs = cos.shape[-1]
    cos, sin = cos.contiguous(), sin.contiguous()
    constants: dict[str, Any] = {"INVERSE": inverse, "HALF": layout == "half", **tile(heads, head_dim, pairs)}
    with launch_device(x):
        launch(
            rope_kernel,
            (batch * length, triton.cdiv(heads, constants["HEADS"])),
            (
                x,
                cos,
                sin,
                y,
                *x.stride()[:3],
                *y.stride()[:3],
                cos.stride(0) if cos.dim() == 3 else 0,
                cos.stride(-2),
                length,
                heads,
                head_dim,
                pairs,
            ),
            constants,
            tile_warps(constants, warp_size_of(x.get_device())),
        )
    return y


def with_features(x: Tensor) -> Tensor:
    """`x` if its last dimension is contiguous, else a copy."""
    return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


def forward(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """RoPE without autograd."""
    return rotate(x, cos, sin, layout, False)


def backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The inverse rotation."""
    return rotate(dy, cos, sin, layout, True)


trained = function(forward, backward)


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.rope`."""
    return trained(x, cos, sin, layout) if trains(x) else forward(x, cos, sin, layout)


def rope_backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.rope.BACKWARD`."""
    return backward(dy, cos, sin, layout)
