"""Calls SDPA with the cheapest arguments that give the mask's meaning."""

import torch
from torch import Tensor
from torch.nn import functional as F


def kind(mask: Tensor | None, queries: int, keys: int) -> str:
    """Which keys the queries see: "full", "causal" (the last query sees every key), or "other".

    A boolean mask `[queries, keys]` is true where a query sees a key. None means that all keys are visible.
    """
    # hole: kind
    if mask is None or bool(mask.all()):
        return "full"
    # Compare values: a mask of any origin may have the pattern, and a mask of this shape may have another.
    lower_right = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return "causal" if torch.equal(mask, lower_right) else "other"
    # end: kind


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """q is `[batch, heads, queries, width]`. k and v may have fewer heads, each shared by several query heads."""
    queries, keys = q.shape[-2], k.shape[-2]
    found = kind(mask, queries, keys)
    # hole: call
    # The flag aligns to the upper left, which is the same as the lower right only for a square.
    square = found == "causal" and queries == keys
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if found == "full" or square else mask,
        is_causal=square,
        enable_gqa=k.shape[1] != q.shape[1],
    )
    # end: call
