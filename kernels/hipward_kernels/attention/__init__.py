"""Attention, by the fastest route that can run it: aiter, PyTorch's SDPA, or plain PyTorch.

`USE_AITER_ATTENTION=1` lets aiter be tried; `FORCE_EAGER_ATTENTION=1` leaves only plain PyTorch. `HIPWARD_DISABLE` can
name `aiter` and `sdpa` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels import switches
from hipward_kernels.attention import aiter as amd
from hipward_kernels.attention import eager, sdpa
from hipward_kernels.attention.call import Call
from hipward_kernels.attention.mask import MaskKind, classify
from hipward_kernels.registry import is_disabled

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["MaskKind", "attention", "classify", "refusals"]

ROUTES: dict[str, Callable[[Call], Tensor]] = {
    "aiter": amd.attention,
    "sdpa": sdpa.attention,
    "eager": eager.attention,
}
"""Fastest first."""


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
    https://arxiv.org/abs/2305.13245) by fewer heads of keys and values, which no route copies but the last.

    Args:
        query: Shape `[B, Sq, H, D]`, any floating dtype; strides are free but for the last dimension.
        key: Shape `[B, Sk, Hkv, D]`, `H` a multiple of `Hkv`.
        value: Shape `[B, Sk, Hkv, Dv]`.
        mask: Broadcastable to `[B, H, Sq, Sk]`; boolean, true where a query sees a key, or added to the scores.
        causal: Each query sees the keys up to its own position, where the last query stands at the last key
            (lower-right): right for prefill, for decode with a cache, and for any chunk between.
        scale: Of the scores; None is `1 / sqrt(D)`.
        dropout: Probability of dropping an attention weight; give 0 when not training.
        use_aiter: Whether aiter may be tried; `USE_AITER_ATTENTION` says unless given.

    Returns:
        Shape `[B, Sq, H, Dv]`, the query's dtype.
    """
    if scale is None:
        # Of a tensor without a last dimension it does not matter: `Call` refuses it.
        scale = max(query.shape[-1:].numel(), 1) ** -0.5
    call = Call(query, key, value, mask, causal, float(scale), dropout)
    for name, run in ROUTES.items():
        if refusal(name, call, use_aiter=use_aiter) is None:
            return run(call)
    raise RuntimeError("no route for attention is switched on")


def refusal(route: str, call: Call, *, use_aiter: bool | None = None) -> str | None:
    """Why a route cannot run a call, or None when it can."""
    if is_disabled(route):
        return f"{route} is switched off"
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
    """For each route, fastest first: why it cannot run the call, or None."""
    return {route: refusal(route, call) for route in ROUTES}
