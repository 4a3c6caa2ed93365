"""The route through AMD's aiter, whose tuned GEMM selects a kernel by a table of shapes (`aiter_table.py`).

The function differs between versions. Some read an attribute of a shuffled weight, some take the argument
`bpreshuffle`, and version 0.1.7 of the wheel does neither: it would multiply a shuffled weight as a plain one. That
version also raises a `KeyError` for most shapes that its table lacks; PyTorch's product is used then.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def find() -> tuple[Callable[..., Any] | None, frozenset[str], str | None]:
    """The function, the keywords it takes, and why it cannot be used."""
    if importlib.util.find_spec("aiter") is None:
        return None, frozenset(), "aiter is not installed"
    try:
        function = importlib.import_module("aiter.tuned_gemm").gemm_a16w16
        names = _parameters(function)
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError, TypeError) as error:
        return None, frozenset(), f"aiter cannot be used: {error}"
    if missing := {"bias", "otype"} - names:
        return None, names, f"aiter's gemm_a16w16 takes no {', '.join(sorted(missing))}; this version is not supported"
    return function, names, None


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Names of the parameters; those of the registered op if the function is a wrapper with `*args, **kwargs`."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        op = getattr(torch.ops.aiter, "gemm_a16w16", None)
        if op is not None:
            return frozenset(argument.name for argument in op.default._schema.arguments)  # noqa: SLF001 - the schema
    return frozenset(parameters)


@lru_cache(maxsize=1)
def shuffled_refusal() -> str | None:
    """Why this version of aiter cannot multiply a shuffled weight, or None if it can."""
    _, names, reason = find()
    if reason or "bpreshuffle" in names:
        return reason
    try:
        source = inspect.getsource(importlib.import_module("aiter.tuned_gemm"))
    except (OSError, TypeError):
        source = ""
    if "is_shuffled" in source:
        return None
    return "this version of aiter's gemm_a16w16 multiplies a shuffled weight as a plain one"


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
    rows = x.reshape(-1, x.shape[-1])
    try:
        out: Tensor = function(rows, weight, **keywords)
    except KeyError as error:
        # A configuration without the entry is returned for a shape that the table lacks.
        if error.args != ("libtype",) or shuffled:
            raise
        _warn_untuned(tuple(rows.shape), tuple(weight.shape))
        out = F.linear(rows, weight, bias)
    return out.view(*x.shape[:-1], weight.shape[0])


@lru_cache(maxsize=1024)
def _warn_untuned(rows: tuple[int, ...], weight: tuple[int, ...]) -> None:
    """Logs a warning once for each shape."""
    log.warning(
        "aiter has no tuned product for %s by %s and fails without one; PyTorch's is used. "
        "python -m hipward_kernels.linear.aiter_table lists such shapes",
        list(rows),
        list(weight),
    )
