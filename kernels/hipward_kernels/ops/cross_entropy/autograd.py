"""Cross-entropy as a differentiable function, from the kernels of any tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative

if TYPE_CHECKING:
    from collections.abc import Callable


def function(
    run: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]],
    differentiate: Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor],
) -> Callable[..., Any]:
    """`losses(logits, labels, ignore_index)` with a gradient.

    Args:
        run: Computes the losses of the rows and the logarithms of their sums of exponentials.
        differentiate: Computes the gradient of the logits from the gradient of the losses, the logits, the labels and
            those logarithms.
    """

    class CrossEntropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, logits: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
            losses, normalizers = run(logits, labels, ignore_index)
            ctx.save_for_backward(logits, labels, normalizers)
            ctx.ignore_index = ignore_index
            return losses

        @staticmethod
        def backward(ctx: Any, dlosses: Tensor) -> tuple[Tensor, None, None]:
            refuse_second_derivative("cross_entropy")
            logits, labels, normalizers = ctx.saved_tensors
            return differentiate(dlosses, logits, labels, normalizers, ctx.ignore_index), None, None

    return CrossEntropy.apply  # type: ignore[no-any-return]
