"""Argument checks of linear layers, and the cache key of the route.

A library would read the wrong memory for mismatched shapes or tensors of another device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from torch import Tensor

from hipward_kernels.dispatch import switches
from hipward_kernels.dispatch.registry import all_disabled
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.checks import tensors

if TYPE_CHECKING:
    from collections.abc import Hashable

Product: TypeAlias = Callable[[Tensor, Tensor, "Tensor | None"], Tensor]
"""A product of `x`, a weight and a bias."""

_setting = switches.setting_of("GEMM_M_THRESHOLD", "PRESHUFFLE_M_THRESH", "USE_AITER_GEMM")


def form(x: Tensor, weight: Tensor, bias: Tensor | None) -> Hashable:
    """Everything that `check` and the selection of a route depend on, as a cache key."""
    try:
        return (
            x.shape, x.dtype, x.device, weight.shape, weight.dtype, weight.device,
            weight.is_inference(), None if bias is None else (bias.shape, bias.dtype, bias.device),
            trains(x, weight, bias), _setting(), all_disabled(),
        )  # fmt: skip
    except AttributeError:
        tensors("linear", x=x, weight=weight, bias=bias)
        raise


def check(x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raises if shapes do not fit or devices differ. PyTorch checks dtypes, because autocast may convert them."""
    tensors("linear", x=x, weight=weight, bias=bias)
    n = weight.shape[0] if weight.dim() else 0
    fits = x.dim() > 0 and weight.dim() == 2 and x.shape[-1] == weight.shape[1] and (bias is None or bias.shape == (n,))
    if not fits:
        shown = "" if bias is None else f", bias {list(bias.shape)}"
        raise ValueError(
            f"linear: x is {list(x.shape)}, weight {list(weight.shape)}{shown}; [..., K], [N, K] and [N] are needed"
        )
    if x.device != weight.device or (bias is not None and bias.device != x.device):
        shown = "" if bias is None else f", bias on {bias.device}"
        raise ValueError(f"linear: x is on {x.device}, weight on {weight.device}{shown}; one device is needed")
