"""The route through AMD's aiter, whose tuned GEMM selects a kernel by a table of shapes."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@lru_cache(maxsize=1)
def find() -> tuple[Callable[..., Any] | None, frozenset[str], str | None]:
    """The function, the keywords it takes, and why it cannot be used."""
    if importlib.util.find_spec("aiter") is None:
        return None, frozenset(), "aiter is not installed"
    try:
        function = importlib.import_module("aiter.tuned_gemm").gemm_a16w16
        names = frozenset(inspect.signature(function).parameters)
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError, TypeError) as error:
        return None, frozenset(), f"aiter cannot be used: {error}"
    if missing := {"bias", "otype"} - names:
        return None, names, f"aiter's gemm_a16w16 takes no {', '.join(sorted(missing))}; this version is not supported"
    return function, names, None


def refusal(x: Tensor, weight: Tensor, bias: Tensor | None) -> str | None:
    """Why this route cannot run, or None if it can."""
    _, _, reason = find()
    if reason:
        return reason
    if x.dtype not in (torch.float16, torch.bfloat16) or weight.dtype != x.dtype:
        return f"aiter's GEMM supports two factors of the same 16-bit dtype, not {x.dtype} and {weight.dtype}"
    trained = (x, weight) if bias is None else (x, weight, bias)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in trained):
        return "aiter's GEMM has no backward"
    return None


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, *, shuffled: bool = False) -> Tensor:
    """See `hipward_kernels.linear`. `shuffled`: whether `weight` is in the order of `preshuffle.py`.

    aiter reads an attribute of the weight, which copies and views do not have. It is set here, for this call.
    """
    function, names, _ = find()
    if function is None:
        raise RuntimeError("aiter is not available; check `refusal` first")
    keywords: dict[str, Any] = {"bias": bias, "otype": x.dtype}
    if shuffled:
        weight.is_shuffled = True  # type: ignore[attr-defined]
        if "bpreshuffle" in names:
            keywords["bpreshuffle"] = True
    out: Tensor = function(x.reshape(-1, x.shape[-1]), weight, **keywords)
    return out.view(*x.shape[:-1], weight.shape[0])
