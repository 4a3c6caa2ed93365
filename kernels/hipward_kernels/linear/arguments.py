"""What a linear layer's product asks of its arguments, and what a choice of its route depends on.

A library that is given another shape than it was told, or a tensor of another device, may read the wrong memory.
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
"""Of `x`, a weight and a bias."""

_setting = switches.setting_of("GEMM_M_THRESHOLD", "PRESHUFFLE_M_THRESH", "USE_AITER_GEMM")


def form(x: Tensor, weight: Tensor, bias: Tensor | None) -> Hashable:
    """All that `check` and the choice of a route look at: what it was found to be for one call, it is for the next."""
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
    """Refuses shapes that do not fit and devices that differ; dtypes are PyTorch's matter, since autocast converts."""
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
