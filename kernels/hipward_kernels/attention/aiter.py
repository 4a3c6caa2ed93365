"""Attention by AMD's aiter, where it is installed.

aiter's schema grows with its versions, so its function is called by keyword, with those keywords only that both it and
this module know, and refused when it lacks one that changes the result.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.attention.mask import MaskKind, classify

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from hipward_kernels.attention.call import Attend, Call

NEEDED = {"dropout_p", "softmax_scale", "causal"}
"""Without these keywords the result would be another."""

OPTIONAL: dict[str, Any] = {"window_size": (-1, -1), "return_lse": False, "return_attn_probs": False}
"""Passed where they exist, in case their defaults change."""

MAX_HEAD_DIM = 256


@lru_cache(maxsize=1)
def _find() -> tuple[Callable[..., Any] | None, frozenset[str], str | None]:
    """The function, the keywords it takes, and why it cannot be used."""
    if importlib.util.find_spec("aiter") is None:
        return None, frozenset(), "aiter is not installed"
    try:
        function = importlib.import_module("aiter").flash_attn_func
        parameters = inspect.signature(function).parameters
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError, TypeError) as error:
        return None, frozenset(), f"aiter cannot be used: {error}"
    names = frozenset(parameters)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    if missing := NEEDED - names:
        if not takes_any:
            return (
                None,
                names,
                f"aiter.flash_attn_func takes no {', '.join(sorted(missing))}; its version is unknown here",
            )
        names |= NEEDED
    return function, names, None


def refusal(call: Call) -> str | None:
    """Why this route cannot run the call, or None."""
    _, _, reason = _find()
    if reason:
        return reason
    if call.query.dtype not in (torch.float16, torch.bfloat16):
        return f"aiter's attention computes in 16 bits, not {call.query.dtype}"
    if call.query.shape[-1] > MAX_HEAD_DIM:
        return f"aiter's attention takes heads of up to {MAX_HEAD_DIM} features"
    if call.mask is not None and _kind(call) is MaskKind.OTHER:
        return "aiter's attention knows no masks but full and causal"
    return None


def _kind(call: Call) -> MaskKind:
    """What the mask is, as far as it can be read without waiting for the GPU in the wrong place."""
    assert call.mask is not None  # noqa: S101 - narrows the type; both callers have looked
    if torch.compiler.is_compiling() or (call.mask.is_cuda and torch.cuda.is_current_stream_capturing()):
        return MaskKind.OTHER
    return classify(call.mask, call.query.shape[1], call.key.shape[1])


def prepared(call: Call) -> Attend:
    """See `hipward_kernels.attention`."""
    function, names, _ = _find()
    assert function is not None  # noqa: S101 - `refusal` has said that it is there
    causal = call.causal or (call.mask is not None and _kind(call) is MaskKind.CAUSAL)
    keywords = {"dropout_p": call.dropout, "softmax_scale": call.scale, "causal": causal}
    keywords |= {name: value for name, value in OPTIONAL.items() if name in names}

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:  # noqa: ARG001
        result = function(query, key, value, **keywords)
        out: Tensor = result[0] if isinstance(result, tuple | list) else result
        return out

    return attend
