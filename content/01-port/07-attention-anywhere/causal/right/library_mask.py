"""Attention by SDPA, with the conventions of flash attention.

`q` is [batch, length, heads, dim]. `k` and `v` may have another length, and fewer heads: each of
their heads serves the same number of neighbouring query heads. If `causal`, the last query sees
every key, the one before it every key but the last, and so on.
"""

import torch.nn.attention.bias
from torch.nn import functional as F


def attention(q, k, v, *, causal: bool, scale: float) -> torch.Tensor:
    # hole: mask
    lower_right = torch.nn.attention.bias.causal_lower_right(q.shape[1], k.shape[1])
    mask = lower_right if causal and q.shape[1] > 1 else None
    group = q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(group, dim=2) for t in (k, v))
    # end: mask
    y = F.scaled_dot_product_attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        attn_mask=mask,
        # hole: arguments
        scale=scale,
        # end: arguments
    )
    return y.transpose(1, 2)
