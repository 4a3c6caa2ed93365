"""QKV split + RoPE in HIP, forward and backward; the kernel is in `hip.hip`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import Launches
from hipward_kernels.ops.qkv_rope.autograd import function
from hipward_kernels.ops.rope.hip import form_of, macros, prepare, shares, table_strides, takes

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

LAUNCHES = Launches(Kernel(Path(__file__).with_name("hip.hip"), "split", "PPPPPPqqqqqqqqqqqqqII"))


def move(
    qkv: Tensor,
    parts: tuple[Tensor, Tensor, Tensor],
    cos: Tensor,
    sin: Tensor,
    layout: Layout,
    inverse: bool,
) -> None:
    """Copies from the joined tensor into the parts with RoPE, or back with the inverse."""
    if not qkv.numel():
        return
    q, k, _ = parts
    batch, length, heads, head_dim = q.shape
    kv_heads = k.shape[2]
    share = shares(qkv.numel(), qkv.itemsize, qkv.get_device())
    form = form_of(qkv.dtype, cos, layout, (batch, length, heads + 2 * kv_heads, head_dim))
    launch = LAUNCHES.get(qkv.get_device(), share.threads, **macros(form, inverse, share), KV_HEADS=kv_heads)
    addresses = (x.data_ptr() for x in (qkv, *parts, cos, sin))
    strides = (stride for part in parts for stride in part.stride()[:3])
    launch(share.blocks, *addresses, *qkv.stride()[:2], *strides, *table_strides(cos), share.units, length)


def forward(
    qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout
) -> tuple[Tensor, Tensor, Tensor]:
    """Split and RoPE, without autograd."""
    batch, length, width = qkv.shape
    head_dim = width // (heads + 2 * kv_heads)
    q = qkv.new_empty((batch, length, heads, head_dim))
    k, v = qkv.new_empty((batch, length, kv_heads, head_dim)), qkv.new_empty((batch, length, kv_heads, head_dim))
    move(qkv, (q, k, v), cos, sin, layout, False)
    return q, k, v


def backward(dq: Tensor, dk: Tensor, dv: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The gradient of the joined tensor."""
    batch, length, heads, head_dim = dq.shape
    dqkv = dq.new_empty((batch, length, (heads + 2 * dk.shape[2]) * head_dim))
    # A gradient may be a view that vectors cannot read.
    dq, dk, dv = (x if takes(x, cos, sin) else x.clone(memory_format=torch.contiguous_format) for x in (dq, dk, dv))
    move(dqkv, (dq, dk, dv), cos, sin, layout, True)
    return dqkv


training.register("qkv_rope", prepare(LAUNCHES))
trained = function(forward, backward)


def qkv_rope(qkv: Tensor, cos: Tensor, sin: Tensor, heads: int, kv_heads: int, layout: Layout) -> Any:
    """See `hipward_kernels.ops.qkv_rope`."""
    if qkv.numel() and not takes(torch.unflatten(qkv, -1, (heads + 2 * kv_heads, -1)), cos, sin):
        return NotImplemented
    if not trains(qkv):
        return forward(qkv, cos, sin, heads, kv_heads, layout)
    parts = training.run("qkv_rope", qkv, cos, sin, heads, kv_heads, layout == "half")
    return trained(qkv, cos, sin, heads, kv_heads, layout) if parts is None else tuple(parts)


def qkv_rope_backward(dq: Tensor, dk: Tensor, dv: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Any:
    """See `hipward_kernels.ops.qkv_rope.BACKWARD`."""
    fits = not dq.numel() or takes(dq.contiguous(), cos, sin)
    return backward(dq, dk, dv, cos, sin, layout) if fits else NotImplemented
