"""A route of `linear` as a custom operator, which compilers do not trace into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.linear import ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable


@torch.library.custom_op("hipward::routed_linear", mutates_args=())
def routed_linear(x: Tensor, weight: Tensor, bias: Tensor | None, route: str) -> Tensor:
    """See `hipward_kernels.linear`, of which `route` is one."""
    return ROUTES[route](x, weight, bias)


@routed_linear.register_fake
def _shape(x: Tensor, weight: Tensor, bias: Tensor | None, route: str) -> Tensor:  # noqa: ARG001
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    x, weight, bias, _ = inputs
    ctx.save_for_backward(x, weight)
    ctx.has_bias = bias is not None


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
    x, weight = ctx.saved_tensors
    rows = grad.reshape(-1, grad.shape[-1])
    return grad @ weight, rows.t() @ x.reshape(-1, x.shape[-1]), rows.sum(0) if ctx.has_bias else None, None


_register: Callable[..., None] = routed_linear.register_autograd
_register(_backward, setup_context=_keep)

ROUTED = torch.ops.hipward.routed_linear.default
"""The operator, for use in a graph."""
