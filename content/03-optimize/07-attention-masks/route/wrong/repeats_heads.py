# fails: case_gqa
# message: Repeating the heads copies keys and values. SDPA shares them with `enable_gqa`.
import torch
from torch import Tensor
from torch.nn import functional as F


def kind(mask: Tensor | None, queries: int, keys: int) -> str:
    if mask is None or bool(mask.all()):
        return "full"
    lower_right = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return "causal" if torch.equal(mask, lower_right) else "other"


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    queries, keys = q.shape[-2], k.shape[-2]
    found = kind(mask, queries, keys)
    shared = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    square = found == "causal" and queries == keys
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if found == "full" or square else mask,
        is_causal=square,
        enable_gqa=k.shape[1] != q.shape[1],
    )
