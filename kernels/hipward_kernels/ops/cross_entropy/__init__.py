"""Softmax and cross-entropy of a language model's logits, without storing the probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import floating, tensors
from hipward_kernels.ops.cross_entropy.reduction import reduced

if TYPE_CHECKING:
    from torch import Tensor

OP = Op(__name__, "cross_entropy", ("hip", "triton", "eager"))
"""The loss of each row, from `logits, labels, ignore_index`."""
REDUCED = Op(__name__, "cross_entropy_reduced", ("hip", "triton", "eager"))
"""Their sum or mean, from `logits, labels, ignore_index, reduction`. It is an op because a training step with it needs
one node of autograd instead of four."""
FORWARD = Op(__name__, "cross_entropy_with_normalizers", ("hip", "triton", "eager"))
"""The op without autograd, and the logarithm of each row's sum of exponentials, for the backward."""
BACKWARD = Op(__name__, "cross_entropy_backward", ("hip", "triton", "eager"))
"""The gradient of the logits, from `logits, labels, normalizers`, the gradient of the losses and `ignore_index`."""

Reduction = Literal["mean", "sum", "none"]


def cross_entropy(logits: Tensor, labels: Tensor, *, ignore_index: int = -100, reduction: Reduction = "mean") -> Tensor:
    """Negative log-likelihood of the labels under the softmax of the logits.

    `loss = log(sum(exp(logits))) - logits[label]` for each row, in nats; the definition of
    `torch.nn.functional.cross_entropy`. Computed in float32 (float64 for float64 logits).

    Args:
        logits: Shape `[..., V]`; float16, bfloat16, float32 or float64. Rows need not be contiguous.
        labels: Shape `[...]`, int64, each in `0 … V - 1` or `ignore_index`. The fused tiers give NaN for the loss of
            any other label, where PyTorch stops the process' device with an assertion.
        ignore_index: Rows with this label have a loss of 0, no gradient, and do not count in the mean.
        reduction: `mean` over the rows that count (NaN when none does, as in PyTorch), `sum` or `none`.

    Returns:
        float32 (float64 for float64 logits): a scalar, or the shape of `labels` for `none`.

    Example:
        >>> import torch
        >>> from hipward_kernels.ops import cross_entropy
        >>> logits, labels = torch.randn(4, 32000, requires_grad=True), torch.tensor([5, 17, -100, 31999])
        >>> loss = cross_entropy(logits, labels)
        >>> loss.backward()
        >>> logits.grad.shape
        torch.Size([4, 32000])
    """
    floating("cross_entropy", "logits", logits)
    tensors("cross_entropy", labels=labels)
    if logits.dim() == 0 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"cross_entropy: logits have shape {list(logits.shape)}, labels {list(labels.shape)}; "
            "labels must have the shape of logits without its last dimension"
        )
    if logits.shape[-1] == 0:
        raise ValueError(f"cross_entropy: logits have shape {list(logits.shape)}, without a class to choose")
    if labels.dtype is not torch.int64:
        raise TypeError(f"cross_entropy: labels have dtype {labels.dtype}; int64 is needed")
    if labels.device != logits.device:
        raise ValueError(f"cross_entropy: labels are on {labels.device}, logits on {logits.device}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"cross_entropy: the reduction {reduction!r} is none of mean, sum, none")
    flat = labels
    if labels.dim() != 1:
        logits, flat = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    if reduction != "none" and not torch.compiler.is_compiling():
        return REDUCED(logits, flat, ignore_index, reduction)  # type: ignore[no-any-return]
    losses: Tensor = OP(logits, flat, ignore_index)
    return losses.view(labels.shape) if reduction == "none" else reduced(losses, flat, ignore_index, reduction)
