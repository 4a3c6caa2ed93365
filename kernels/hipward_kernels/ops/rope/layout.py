"""The two layouts of rotary embeddings, their tables, and the conversion of weights between them.

Plain PyTorch, without kernels.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Layout = Literal["half", "interleaved"]
"""Which two of `R` rotated features are a pair: `i` and `i + R/2` (half; GPT-NeoX and Hugging Face Llama), or
`2i` and `2i + 1` (interleaved; GPT-J and Meta's Llama)."""

LAYOUTS: tuple[Layout, ...] = ("half", "interleaved")


def rope_table(
    length: int,
    rotary_dim: int,
    base: float = 10000.0,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the angles of `rope`.

    `angle[p, i] = p / base**(2 * i / rotary_dim)`, in radians (Su et al. 2021, section 3.2.2,
    https://arxiv.org/abs/2104.09864). Computed in float64: at position 100,000 float32 angles are off by 0.004.

    Args:
        length: Number of positions, from 0.
        rotary_dim: Number of rotated features; even.
        base: The slowest pair completes a rotation in about `2 * pi * base` positions.
        device: Device of the result.
        dtype: Dtype of the result; float32 is recommended also for 16-bit models.

    Returns:
        Cosines and sines, each of shape `[length, rotary_dim / 2]`.
    """
    if rotary_dim <= 0 or rotary_dim % 2:
        raise ValueError(
            f"rope_table: rotary_dim is {rotary_dim}; features are rotated in pairs, so it must be even and positive"
        )
    pairs = torch.arange(rotary_dim // 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(length, dtype=torch.float64), base ** (-2 * pairs / rotary_dim))
    return angles.cos().to(device=device, dtype=dtype), angles.sin().to(device=device, dtype=dtype)


def convert_weight(weight: Tensor, heads: int, to: Layout, rotary_dim: int | None = None) -> Tensor:
    """Reorders the projection of queries or keys so that the other layout gives the same attention scores.

    Args:
        weight: The projection's weight `[heads * D, K]` or bias `[heads * D]`, for the layout other than `to`.
        heads: Heads of this projection.
        to: Layout of the result.
        rotary_dim: Rotated features of a head; None means all `D`.

    Returns:
        A new tensor with the shape of `weight`.
    """
    if to not in LAYOUTS:
        raise ValueError(f"convert_weight: the layout {to!r} is none of {', '.join(LAYOUTS)}")
    if weight.shape[0] % heads:
        raise ValueError(f"convert_weight: {weight.shape[0]} rows are not a multiple of {heads} heads")
    by_head = torch.unflatten(weight, 0, (heads, -1))
    turning = by_head.shape[1] if rotary_dim is None else rotary_dim
    order = torch.arange(turning, device=weight.device)
    order = order.view(2, -1).t().reshape(-1) if to == "interleaved" else order.view(-1, 2).t().reshape(-1)
    return torch.cat([by_head[:, order], by_head[:, turning:]], dim=1).flatten(0, 1)
