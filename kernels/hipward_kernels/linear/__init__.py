"""The matrix product of linear layers, by the route that a sweep found fastest for its shape.

* `preshuffled`: aiter's assembly kernels on a weight in their own order (`preshuffle.py`), with `USE_AITER_GEMM=1` and
  from `PRESHUFFLE_M_THRESH` rows on.
* `aiter`: AMD's tuned GEMM, with `USE_AITER_GEMM=1`. Without a tuned row for the shape it silently runs PyTorch's GEMM;
  `AITER_LOG_TUNED_CONFIG=1` logs that.
* `lt`: hipBLASLt or cuBLASLt, where PyTorch would use rocBLAS or cuBLAS.
* `plain`: the library that PyTorch selects. TunableOp (`tunable.py`) tunes algorithms of `lt` and `plain`.

If one route is faster for few rows and another for many, the number of rows between them is fitted to a sweep and
stored in a table for each architecture and weight (`route_table.py`); `GEMM_M_THRESHOLD` overrides it. Arguments are
checked and a route is selected once for each form of arguments.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from hipward_kernels.dispatch import switches
from hipward_kernels.dispatch.cache import DispatchCache
from hipward_kernels.dispatch.registry import is_disabled
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.linear import aiter as amd
from hipward_kernels.linear import lt, preshuffle
from hipward_kernels.linear.arguments import check, form
from hipward_kernels.linear.route_table import Split, split_for

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.linear.arguments import Product

__all__ = ["linear", "refusals"]

log = logging.getLogger(__name__)

ROUTES: dict[str, Product] = {
    "preshuffled": preshuffle.linear,
    "aiter": amd.linear,
    "lt": lt.linear,
    "plain": F.linear,
}

_cache: DispatchCache[Product] = DispatchCache()
_compiling = torch.compiler.is_compiling


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias`.

    Args:
        x: Shape `[..., K]`.
        weight: Shape `[N, K]`, the dtype of `x`.
        bias: Shape `[N]`.

    Returns:
        Shape `[..., N]`.

    Example:
        >>> import torch
        >>> from hipward_kernels.linear import linear
        >>> x, weight = torch.randn(8, 4096), torch.randn(6144, 4096)
        >>> linear(x, weight).shape
        torch.Size([8, 6144])
    """
    if _compiling():
        return F.linear(x, weight, bias)
    key = form(x, weight, bias)
    product = _cache.lookup(key)
    if product is None:
        check(x, weight, bias)
        product = _cache.store(key, ROUTES[choose(x, weight, bias)])
    return product(x, weight, bias)


def choose(x: Tensor, weight: Tensor, bias: Tensor | None, *, use_aiter: bool | None = None) -> str:
    """The route for these arguments. `use_aiter` allows aiter (default: `USE_AITER_GEMM`)."""
    rows = x.numel() // max(x.shape[-1], 1)
    for route in wanted(rows, weight):
        if refusal(route, x, weight, bias, use_aiter=use_aiter) is None:
            return route
    return "plain"


def wanted(rows: int, weight: Tensor) -> tuple[str, ...]:
    """The routes to try before `plain` for a number of rows, in order."""
    shuffles = preshuffle.rows_wanted()
    first = ("preshuffled",) if shuffles is not None and rows >= shuffles else ()
    return (*first, *_wanted(rows, weight))


def _wanted(rows: int, weight: Tensor) -> tuple[str, ...]:
    limit = switches.number("GEMM_M_THRESHOLD")
    if limit is not None:
        return ("aiter", "lt") if rows <= limit else ()
    n, k = weight.shape
    found: Split | None = split_for(get_gfx(weight.get_device()), weight.dtype, n, k)
    if found is not None:
        return (found.few if found.rows is None or rows <= found.rows else found.many,)
    # Nothing was measured for this weight: aiter if it is enabled, else the library that PyTorch selects.
    return ("aiter",)


def refusal(route: str, x: Tensor, weight: Tensor, bias: Tensor | None, *, use_aiter: bool | None = None) -> str | None:
    """Why a route cannot run, or None if it can."""
    if is_disabled(route):
        return f"{route} is disabled"
    if route == "plain":
        return None
    if route == "lt":
        return lt.refusal(x)
    if not (switches.on("USE_AITER_GEMM") if use_aiter is None else use_aiter):
        return "USE_AITER_GEMM is not 1"
    if route == "preshuffled":
        return "aiter is disabled" if is_disabled("aiter") else preshuffle.refusal(x, weight, bias)
    return amd.refusal(x, weight, bias)


def host_refusal(x: Tensor) -> str | None:
    """Why no route but `plain` can run for tensors like this one, or None."""
    return None if x.is_cuda else amd.find()[2]


def refusals(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> dict[str, str | None]:
    """For each route: why it cannot run, or None."""
    return {route: refusal(route, x, weight, bias) for route in ROUTES}
