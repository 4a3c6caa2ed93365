# test: run
"""Attention in three tiers: a vendor library, PyTorch's SDPA, and plain matrix products.

Every tier takes q as [batch, length, heads, dim] and k, v with as many or fewer heads (GQA), and
aligns a causal mask to the bottom right: with a KV cache, the last query sees every key.
"""

from __future__ import annotations

import os

import torch
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

# anchor: probe
try:
    from aiter import flash_attn_func as aiter_flash_attention
except ImportError:
    aiter_flash_attention = None


def switched_on(name: str) -> bool:
    return os.environ.get(name, "0") == "1"
# end: probe


# anchor: router
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, scale: float | None = None
) -> torch.Tensor:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if switched_on("FORCE_EAGER_ATTENTION"):
        return eager_attention(q, k, v, causal=causal, scale=scale)
    if switched_on("USE_AITER_ATTENTION") and aiter_can_take(q):
        return aiter_attention(q, k, v, causal=causal, scale=scale)
    return sdpa_attention(q, k, v, causal=causal, scale=scale)
# end: router


# anchor: aiter
def aiter_can_take(q: torch.Tensor) -> bool:
    """Decide before the call: an `except` around it would hide wrong arguments."""
    return (
        aiter_flash_attention is not None
        and q.is_cuda
        and q.dtype in (torch.float16, torch.bfloat16)
        and q.shape[-1] <= 256
    )


def aiter_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, scale: float
) -> torch.Tensor:
    """Keywords only: the positional signature has changed more than once."""
    assert aiter_flash_attention is not None
    result = aiter_flash_attention(q, k, v, softmax_scale=scale, causal=causal)
    return result[0] if isinstance(result, tuple) else result  # some versions return more
# end: aiter


# anchor: sdpa
def sdpa_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, scale: float
) -> torch.Tensor:
    """SDPA takes [batch, heads, length, dim], and its causal flag aligns to the top left."""
    q_length, k_length = q.shape[1], k.shape[1]
    mask = causal_lower_right(q_length, k_length) if causal and q_length > 1 else None
    y = F.scaled_dot_product_attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        attn_mask=mask,
        scale=scale,
        enable_gqa=q.shape[2] != k.shape[2],
    )
    return y.transpose(1, 2)
# end: sdpa


# anchor: eager
def eager_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, scale: float
) -> torch.Tensor:
    """The definition: the reference for the other tiers, and the last fall-back."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, dim=2), v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        q_length, k_length = scores.shape[-2:]
        allowed = torch.ones(q_length, k_length, dtype=torch.bool, device=q.device)
        allowed = allowed.tril(diagonal=k_length - q_length)
        scores = scores.masked_fill(~allowed, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(dim=-1), v)
# end: eager


# anchor: check
def check_tiers_agree() -> None:
    torch.manual_seed(0)
    for q_length, k_length in ((8, 8), (1, 8), (3, 8)):  # prefill, decode, chunked prefill
        for kv_heads in (8, 2):
            q = torch.randn(2, q_length, 8, 32, dtype=torch.float64)
            k, v = torch.randn(2, 2, k_length, kv_heads, 32, dtype=torch.float64)
            for causal in (True, False):
                want = eager_attention(q, k, v, causal=causal, scale=0.1)
                got = sdpa_attention(q, k, v, causal=causal, scale=0.1)
                torch.testing.assert_close(got, want)
# end: check


# anchor: top-left
def show_top_left_alignment() -> None:
    """One query, eight keys: the newest token should see all of them. It sees the first."""
    q, k, v = torch.randn(1, 1, 1, 4), torch.randn(1, 1, 8, 4), torch.randn(1, 1, 8, 4)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.equal(y[:, :, 0], v[:, :, 0])
# end: top-left


if __name__ == "__main__":
    check_tiers_agree()
    show_top_left_alignment()
    print("the tiers agree for prefill, decode and chunked prefill, with and without GQA")
