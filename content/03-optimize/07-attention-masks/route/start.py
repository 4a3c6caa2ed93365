"""Calls SDPA with the cheapest arguments that give the mask's meaning."""

import torch
from torch import Tensor
from torch.nn import functional as F


def kind(mask: Tensor | None, queries: int, keys: int) -> str:
    """Which keys the queries see: "full", "causal" (the last query sees every key), or "other".

    A boolean mask `[queries, keys]` is true where a query sees a key. None means that all keys are visible.
    """
    # hole: kind
    return "other"
    # end: kind


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """q is `[batch, heads, queries, width]`. k and v may have fewer heads, each shared by several query heads."""
    queries, keys = q.shape[-2], k.shape[-2]
    found = kind(mask, queries, keys)
    # hole: call
    shared = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    # end: call
