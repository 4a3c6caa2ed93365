"""Attention by AMD's aiter, if it is installed.

The parameters of aiter's function differ between versions. It is called with the keywords that both it and this module
know, and not used if it lacks one that changes the result.
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
"""Required keywords, which change the result."""

OPTIONAL: dict[str, Any] = {"window_size": (-1, -1), "return_lse": False, "return_attn_probs": False}
"""Keywords that are passed if they exist, in case their defaults change."""

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
                f"aiter.flash_attn_func takes no {', '.join(sorted(missing))}; this version is not supported",
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
        return "aiter's attention supports only full and causal masks"
    return None


def _kind(call: Call) -> MaskKind:
    """Kind of the mask; `OTHER` where its contents cannot be read, such as during graph capture."""
    assert call.mask is not None  # noqa: S101 - narrows the type; both callers checked it
    if torch.compiler.is_compiling() or (call.mask.is_cuda and torch.cuda.is_current_stream_capturing()):
        return MaskKind.OTHER
    return classify(call.mask, call.query.shape[1], call.key.shape[1])


def prepared(call: Call) -> Attend:
    """See `hipward_kernels.attention`."""
    function, names, _ = _find()
    assert function is not None  # noqa: S101 - `refusal` checked it
    causal = call.causal or (call.mask is not None and _kind(call) is MaskKind.CAUSAL)
    keywords = {"dropout_p": call.dropout, "softmax_scale": call.scale, "causal": causal}
    keywords |= {name: value for name, value in OPTIONAL.items() if name in names}

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:  # noqa: ARG001
        result = function(query, key, value, **keywords)
        out: Tensor = result[0] if isinstance(result, tuple | list) else result
        return out

    return attend
