"""QKV split + RoPE in Triton: one pass over memory, one launch.

The backward joins the gradients and applies the inverse rotation, with the same kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.launch import launch, launch_device, warp_size_of
from hipward_kernels.ops.qkv_rope.autograd import function
from hipward_kernels.ops.rope.triton import table_row, tile, tile_warps, turn, with_features

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout


@triton.jit
def move(
    joined_ptr,
    part_ptr,
    part_head_stride,
    first_head,
    heads,
    head_dim,
    pairs,
    cos,
    sin,
    INVERSE: tl.constexpr,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    REST: tl.constexpr,
):
    """Rotates heads from the joined tensor into a part, or back."""
    if INVERSE:
        turn(
            part_ptr, joined_ptr, part_head_stride, head_dim,
            first_head, heads, head_dim, pairs, cos, sin, HALF, HEADS, PAIRS, REST,
        )  # fmt: skip
    else:
        turn(
            joined_ptr, part_ptr, head_dim, part_head_stride,
            first_head, heads, head_dim, pairs, cos, sin, HALF, HEADS, PAIRS, REST,
        )  # fmt: skip


@triton.jit
def qkv_rope_kernel(
    qkv_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    cos_ptr,
    sin_ptr,
    qkv_batch_stride,
    qkv_position_stride,
    q_batch_stride,
    q_position_stride,
    q_head_stride,
    k_batch_stride,
    k_position_stride,
    k_head_stride,
    v_batch_stride,
    v_position_stride,
    v_head_stride,
    table_batch_stride,
    table_position_stride,
    length,
    heads,
    kv_heads,
    head_dim,
    pairs,
    INVERSE: tl.constexpr,
    HALF: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    REST: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Program `(t, g)` processes token `t` of `[B, S]` and a group of heads, of queries, keys or values."""
    batch = (tl.program_id(0) // length).to(tl.int64)
    position = (tl.program_id(0) % length).to(tl.int64)
    group = tl.program_id(1)
    q_groups = tl.cdiv(heads, HEADS)
    kv_groups = tl.cdiv(kv_heads, HEADS)
    qkv_ptr += batch * qkv_batch_stride + position * qkv_position_stride
    k_ptr += batch * k_batch_stride + position * k_position_stride
    if group < q_groups + kv_groups:
        table = batch * table_batch_stride + position * table_position_stride
        cos, sin = table_row(cos_ptr, sin_ptr, table, pairs, INVERSE, PAIRS)
        if group < q_groups:
            move(
                qkv_ptr, q_ptr + batch * q_batch_stride + position * q_position_stride, q_head_stride,
                group * HEADS, heads, head_dim, pairs, cos, sin, INVERSE, HALF, HEADS, PAIRS, REST,
            )  # fmt: skip
        else:
            move(
                qkv_ptr + heads * head_dim, k_ptr, k_head_stride,
                (group - q_groups) * HEADS, kv_heads, head_dim, pairs, cos, sin, INVERSE, HALF, HEADS, PAIRS, REST,
            )  # fmt: skip
    else:
        # Values are copied unchanged.
        head = (group - q_groups - kv_groups) * HEADS + tl.arange(0, HEADS)
        feature = tl.arange(0, WIDTH)
        mask = (head < kv_heads)[:, None] & (feature < head_dim)[None, :]
        joined = qkv_ptr + (heads + kv_heads) * head_dim + head[:, None] * head_dim + feature[None, :]
        part = v_ptr + batch * v_batch_stride + position * v_position_stride
        part += head[:, None].to(tl.int64) * v_head_stride + feature[None, :]
        if INVERSE:
            tl.store(joined, tl.load(part, mask=mask), mask=mask)
        else:
            tl.store(part, tl.load(joined, mask=mask), mask=mask)


def run(
    qkv: Tensor, parts: tuple[Tensor, Tensor, Tensor], cos: Tensor, sin: Tensor, layout: Layout, inverse: bool
) -> None:
    """Copies from the joined tensor into the parts with RoPE, or back with the inverse."""
    if qkv.numel() == 0:
        return
    q, k, _ = parts
    batch, length, heads, head_dim = q.shape
    kv_heads, pairs = k.shape[2], cos.shape[-1]
    cos, sin = cos.contiguous(), sin.contiguous()
    constants: dict[str, Any] = {"INVERSE": inverse, "HALF": layout == "half", **tile(kv_heads, head_dim, pairs)}
    constants["WIDTH"] = triton.next_power_of_2(head_dim)
    groups = triton.cdiv(heads, constants["HEADS"]) + 2 * triton.cdiv(kv_heads, constants["HEADS"])
    with launch_device(qkv):
        launch(
            qkv_rope_kernel,
            (batch * length, groups),
            (
                qkv,
                *parts,
                cos,
                sin,
                *qkv.stride()[:2],
                *(stride for part in parts for stride in part.stride()[:3]),
                cos.stride(0) if cos.dim() == 3 else 0,
                cos.stride(-2),
                length,
                heads,
                kv_heads,
                head_dim,
                pairs,
            ),
            constants,
            tile_warps(constants, warp_size_of(qkv.get_device())),
        )


def empty_parts(qkv: Tensor, heads: int, kv_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Uninitialized tensors for queries, keys and values."""
    batch, length, width = qkv.shape
    shapes = [(batch, length, count, width // (heads + 2 * kv_heads)) for count in (heads, kv_heads, kv_heads)]
    q, k, v = (qkv.new_empty(shape) for shape in shapes)
    return q, k, v


def forward(
    qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout
) -> tuple[Tensor, Tensor, Tensor]:
    """Split and RoPE, without autograd."""
    qkv = with_features(qkv)
    parts = empty_parts(qkv, heads, kv_heads)
    run(qkv, parts, cos, sin, layout, False)
    return parts


def backward(dq: Tensor, dk: Tensor, dv: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The gradient of the joined tensor."""
    batch, length, heads, head_dim = dq.shape
    dqkv = dq.new_empty((batch, length, (heads + 2 * dk.shape[2]) * head_dim))
    run(dqkv, (with_features(dq), with_features(dk), with_features(dv)), cos, sin, layout, True)
    return dqkv


trained = function(forward, backward)


def qkv_rope(
    qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout
) -> tuple[Tensor, Tensor, Tensor]:
    """See `hipward_kernels.ops.qkv_rope`."""
    if trains(qkv):
        return trained(qkv, cos, sin, heads, kv_heads, layout)  # type: ignore[no-any-return]
    return forward(qkv, cos, sin, heads, kv_heads, layout)


def qkv_rope_backward(dq: Tensor, dk: Tensor, dv: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.qkv_rope.BACKWARD`."""
    return backward(dq, dk, dv, cos, sin, layout)
