"""The parts of a decoding step in plain PyTorch: the definitions that the kernels must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from hipward_kernels.ops.add_rmsnorm.eager import add_rmsnorm
from hipward_kernels.ops.qkv_rope.eager import qkv_rope
from hipward_kernels.ops.rmsnorm.eager import rmsnorm
from hipward_kernels.ops.swiglu.eager import swiglu

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout


def decode_linear(x: Tensor, weight: Tensor) -> Tensor:
    """See `hipward_kernels.decoding.decode_linear`."""
    return F.linear(x, weight)


def decode_norm_linear(
    x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.decoding.decode_norm_linear`."""
    normed, total = (rmsnorm(x, norm, eps), x) if residual is None else add_rmsnorm(x, residual, norm, eps)
    return F.linear(normed, weight), total


def decode_norm_swiglu(
    x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.decoding.decode_norm_swiglu`."""
    product, total = decode_norm_linear(x, residual, norm, eps, weight)
    return swiglu(product), total


def decode_norm_qkv(
    x: Tensor,
    residual: Tensor | None,
    norm: Tensor,
    eps: float,
    weight: Tensor,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    position: Tensor,
    layout: Layout,
) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.decoding.decode_norm_qkv`."""
    product, total = decode_norm_linear(x, residual, norm, eps, weight)
    kv_heads, features = keys.shape[2:]
    heads = weight.shape[0] // features - 2 * kv_heads
    query, key, value = qkv_rope(product, cos[position], sin[position], heads, kv_heads, layout)
    keys.index_copy_(1, position, key)
    values.index_copy_(1, position, value)
    return query, total


def decode_attention(query: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> Tensor:
    """See `hipward_kernels.decoding.decode_attention`."""
    return masked_attention(query, keys, values, torch.arange(keys.shape[1], device=keys.device) <= position)


def masked_attention(query: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
    """Attention with the positions that are `visible`, `[T]`, bool; see `decode_attention` for the others.

    The heads that share keys and values become rows of one attention, so nothing is repeated, and kernels without
    grouped-query attention can be used.
    """
    batch, _, heads, features = query.shape
    rows = query.view(batch, keys.shape[2], -1, features)
    mask = visible.expand(1, 1, rows.shape[2], -1)
    out = F.scaled_dot_product_attention(rows, keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask)
    return out.reshape(batch, 1, heads, features)


def decode_choose(logits: Tensor, token: Tensor, text: Tensor, position: Tensor) -> Tensor:
    """See `hipward_kernels.decoding.decode_choose`."""
    token.copy_(logits.argmax(-1))
    position += 1
    # The next position may be beyond the text.
    place = torch.arange(text.shape[1], device=text.device) == position
    text.copy_(torch.where(place, token, text))
    return token
