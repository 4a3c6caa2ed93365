"""Attention by the fastest route that supports the arguments: aiter, PyTorch's SDPA, or plain PyTorch.

`USE_AITER_ATTENTION=1` enables aiter; `FORCE_EAGER_ATTENTION=1` disables everything except plain PyTorch.
`HIPWARD_DISABLE` can name `aiter` and `sdpa` too.

Arguments are checked and a route is selected once for each form of a call; the resulting function is cached.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from hipward_kernels.attention import aiter as amd
from hipward_kernels.attention import eager, sdpa
from hipward_kernels.attention.call import Call
from hipward_kernels.attention.mask import MaskKind, classify
from hipward_kernels.dispatch import switches
from hipward_kernels.dispatch.cache import DispatchCache
from hipward_kernels.dispatch.registry import all_disabled, is_disabled
from hipward_kernels.ops.checks import tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from hipward_kernels.attention.call import Attend

__all__ = ["MaskKind", "attention", "classify", "refusals"]

ROUTES: dict[str, Callable[[Call], Attend]] = {
    "aiter": amd.prepared,
    "sdpa": sdpa.prepared,
    "eager": eager.prepared,
}
"""Routes in order of speed. Each function prepares calls of one form."""

_cache: DispatchCache[Attend] = DispatchCache()
_setting = switches.setting_of("FORCE_EAGER_ATTENTION", "USE_AITER_ATTENTION")
_compiling = torch.compiler.is_compiling


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
    use_aiter: bool | None = None,
) -> Tensor:
    """Softmax attention: `softmax(query @ key.T * scale + mask) @ value` for each head.

    Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762), equation 1; grouped-query attention (Ainslie et al. 2023,
    https://arxiv.org/abs/2305.13245) with fewer heads of keys and values, which only the last route copies.

    Args:
        query: Shape `[B, Sq, H, D]`, any floating dtype; any strides except in the last dimension.
        key: Shape `[B, Sk, Hkv, D]`, `H` a multiple of `Hkv`.
        value: Shape `[B, Sk, Hkv, Dv]`.
        mask: Broadcastable to `[B, H, Sq, Sk]`; boolean, true where a query sees a key, or added to the scores.
        causal: Each query sees the keys up to its own position, where the last query has the position of the last key
            (lower-right alignment), as needed for prefill, for decoding with a cache, and for chunks in between.
        scale: Factor of the scores; None means `1 / sqrt(D)`.
        dropout: Probability of dropping an attention weight; pass 0 unless training.
        use_aiter: Whether aiter is enabled (default: `USE_AITER_ATTENTION`).

    Returns:
        Shape `[B, Sq, H, Dv]`, the query's dtype.

    Example:
        >>> import torch
        >>> from hipward_kernels.attention import attention
        >>> query = torch.randn(2, 16, 32, 128)
        >>> key, value = torch.randn(2, 16, 8, 128), torch.randn(2, 16, 8, 128)
        >>> attention(query, key, value, causal=True).shape
        torch.Size([2, 16, 32, 128])
    """
    if _compiling():
        call = Call(query, key, value, mask, causal, _scale(query, scale), dropout)
        return _prepared(call, use_aiter=use_aiter)(query, key, value, mask)
    try:
        form = (
            query.shape, query.dtype, query.device, key.shape, key.dtype, key.device,
            value.shape, value.dtype, value.device,
            None if mask is None else (mask.shape, mask.dtype, mask.device, mask.requires_grad),
            bool(causal), None if scale is None else float(scale), float(dropout),
            use_aiter, _setting(), all_disabled(),
        )  # fmt: skip
    except AttributeError:
        tensors("attention", query=query, key=key, value=value, mask=mask)
        raise
    attend = _cache.lookup(form)
    if attend is None:
        call = Call(query, key, value, mask, causal, _scale(query, scale), dropout)
        attend = _prepared(call, use_aiter=use_aiter)
        if _lasts(call, use_aiter=use_aiter):
            _cache.store(form, attend)
    return attend(query, key, value, mask)


def _scale(query: Tensor, scale: float | None) -> float:
    if scale is not None:
        return float(scale)
    # For a tensor without dimensions, any value: `Call` raises an error.
    return max(query.shape[-1], 1) ** -0.5 if len(query.shape) else 1.0


def _prepared(call: Call, *, use_aiter: bool | None) -> Attend:
    for name, prepared in ROUTES.items():
        if refusal(name, call, use_aiter=use_aiter) is None:
            return prepared(call)
    raise RuntimeError("every route of attention is disabled")


def _lasts(call: Call, *, use_aiter: bool | None) -> bool:
    """Whether a route can be cached for this form: aiter, if available, depends on the contents of a mask."""
    return call.mask is None or refusal("aiter", replace(call, mask=None), use_aiter=use_aiter) is not None


def refusal(route: str, call: Call, *, use_aiter: bool | None = None) -> str | None:
    """Why a route cannot run a call, or None if it can."""
    if is_disabled(route):
        return f"{route} is disabled"
    if route == "eager":
        return None
    if switches.on("FORCE_EAGER_ATTENTION"):
        return "FORCE_EAGER_ATTENTION=1"
    if route == "sdpa":
        return sdpa.refusal(call)
    if not (switches.on("USE_AITER_ATTENTION") if use_aiter is None else use_aiter):
        return "USE_AITER_ATTENTION is not 1"
    return amd.refusal(call)


def refusals(call: Call) -> dict[str, str | None]:
    """For each route, in order of speed: why it cannot run the call, or None."""
    return {route: refusal(route, call) for route in ROUTES}
