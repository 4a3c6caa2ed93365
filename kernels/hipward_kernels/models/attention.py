"""Attention of a layer: projections, rotary embeddings, and the attention itself, as selected by the switches.

Tensors of heads are `[B, S, H, D]` throughout: batch, sequence, heads, features of a head.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.attention import attention
from hipward_kernels.decoding.eager import masked_attention
from hipward_kernels.ops import qkv_rope, rope

if TYPE_CHECKING:
    from hipward_kernels.models.cache import LayerCache
    from hipward_kernels.models.config import Config, Switches
    from hipward_kernels.ops.rope.layout import Layout


def plain_rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """Rotary embeddings as models usually write them, with a kernel for each operation: the baseline.

    Args:
        x: `[B, S, H, D]`.
        cos: `[S, D / 2]`, float32 (float64 in a float64 model).
        sin: Like `cos`.
        layout: Which two features are a pair; see `hipward_kernels.ops.rope`.
    """
    cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
    if layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2).to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


def plain_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention that stores all scores: the baseline.

    Equation 1 of Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762), with the softmax in float32 or wider. The
    last query sees every key, as needed for one new query after cached keys.

    Args:
        q: `[B, S, H, D]`.
        k: `[B, T, K, D]`, `T >= S`; `H` is a multiple of `K`.
        v: The same.

    Returns:
        `[B, S, H, D]`.
    """
    shared = q.shape[2] // k.shape[2]
    q, k, v = (heads.transpose(1, 2) for heads in (q, k, v))
    k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    queries, keys = scores.shape[-2:]
    future = torch.ones(queries, keys, dtype=torch.bool, device=q.device).triu(keys - queries + 1)
    scores = scores.masked_fill(future, -math.inf)
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return (scores.softmax(-1, dtype=wide).to(v.dtype) @ v).transpose(1, 2)


def flash_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same through PyTorch's `scaled_dot_product_attention`, without repeating keys and values in memory."""
    queries, keys = q.shape[1], k.shape[1]
    q, k, v = (heads.transpose(1, 2) for heads in (q, k, v))
    if queries not in (1, keys):
        raise ValueError(f"{queries} queries after {keys - queries} cached keys: decode one token at a time")
    # PyTorch's causal mask is aligned to the top left: a single query would see one key, but must see all.
    out = F.scaled_dot_product_attention(q, k, v, is_causal=queries > 1, enable_gqa=q.shape[1] != k.shape[1])
    return out.transpose(1, 2)


class Attention(nn.Module):
    """Self-attention with rotary embeddings and grouped queries."""

    def __init__(self, config: Config, switches: Switches) -> None:
        super().__init__()
        self.config = config
        self.switches = switches
        sizes = [heads * config.head_dim for heads in config.qkv_heads]
        if switches.fused_qkv:
            self.qkv_proj = nn.Linear(config.hidden_size, sum(sizes), bias=False)
        else:
            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(config.hidden_size, size, bias=False) for size in sizes)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, cache: LayerCache | None = None) -> Tensor:
        """`x` of shape `[B, S, hidden]` to the same shape; `cos` and `sin` are `[S, D / 2]`, for its positions."""
        q, k, v = self.heads(x, cos, sin)
        if cache is not None:
            k, v = cache.extend(k, v)
        if cache is not None and cache.visible is not None and q.shape[1] == 1:
            out = masked_attention(q, k, v, cache.visible)
        elif self.switches.attention_router:
            out = attention(q, k, v, causal=True)
        elif self.switches.flash_attention:
            out = flash_attention(q, k, v)
        else:
            out = plain_attention(q, k, v)
        return self.o_proj(out.flatten(-2))  # type: ignore[no-any-return]

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, the first two rotated by their positions."""
        layout = self.config.rope_layout
        if self.switches.qkv_rope_kernel:
            return qkv_rope(self.qkv_proj(x), cos, sin, self.config.num_heads, self.config.num_kv_heads, layout)
        if self.switches.fused_qkv:
            # Views that share rows: nothing is copied.
            q, k, v = self.qkv_proj(x).unflatten(-1, (-1, self.config.head_dim)).split(self.config.qkv_heads, dim=2)
        else:
            q, k, v = (
                projection(x).unflatten(-1, (-1, self.config.head_dim))
                for projection in (self.q_proj, self.k_proj, self.v_proj)
            )
        turn = rope if self.switches.rope_kernel else plain_rope
        return turn(q, cos, sin, layout), turn(k, cos, sin, layout), v
