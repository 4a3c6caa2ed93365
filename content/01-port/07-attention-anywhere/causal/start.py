"""Attention by SDPA, with the conventions of flash attention.

`q` is [batch, length, heads, dim]. `k` and `v` may have another length, and fewer heads: each of
their heads serves the same number of neighbouring query heads. If `causal`, the last query sees
every key, the one before it every key but the last, and so on.
"""

import torch
from torch.nn import functional as F


def attention(q, k, v, *, causal: bool, scale: float) -> torch.Tensor:
    # hole: mask
    mask = None
    # end: mask
    y = F.scaled_dot_product_attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        attn_mask=mask,
        # hole: arguments
        is_causal=causal,
        # end: arguments
    )
    return y.transpose(1, 2)
