"""LayerNorm as a differentiable function, from the kernels of any tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Statistics:
    """What the backward needs of each row: float32, one number for each row."""

    mean: Tensor
    scale: Tensor
    """`1 / sqrt(variance + eps)`."""


class Forward(Protocol):
    """A tier's forward kernel."""

    def __call__(
        self, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, save: bool
    ) -> tuple[Tensor, Statistics | None]:
        """LayerNorm of `x`, and the statistics of its rows if `save` is true."""


class Backward(Protocol):
    """A tier's backward kernels."""

    def __call__(
        self, dy: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, statistics: Statistics
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Gradients of `x`, of the weight and of the bias. Of the bias, only dtype and shape are used."""


def function(run: Forward, differentiate: Backward) -> Callable[..., Any]:
    """`layernorm(x, weight, bias, eps)` with a gradient."""

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
            y, statistics = run(x, weight, bias, eps, save=True)
            assert statistics is not None  # noqa: S101 - for the type checker
            ctx.save_for_backward(x, weight, bias, statistics.mean, statistics.scale)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
            refuse_second_derivative("layernorm")
            x, weight, bias, mean, scale = ctx.saved_tensors
            return (*differentiate(dy, x, weight, bias, Statistics(mean, scale)), None)

    return LayerNorm.apply  # type: ignore[no-any-return]
