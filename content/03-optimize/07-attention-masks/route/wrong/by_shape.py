# fails: case_other, case_kind
# message: The pattern is taken from the shape. Compare the values of the mask.
import torch
from torch import Tensor
from torch.nn import functional as F


def kind(mask: Tensor | None, queries: int, keys: int) -> str:
    if mask is None or bool(mask.all()):
        return "full"
    return "causal" if queries == keys else "other"


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    queries, keys = q.shape[-2], k.shape[-2]
    found = kind(mask, queries, keys)
    square = found == "causal" and queries == keys
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if found == "full" or square else mask,
        is_causal=square,
        enable_gqa=k.shape[1] != q.shape[1],
    )
