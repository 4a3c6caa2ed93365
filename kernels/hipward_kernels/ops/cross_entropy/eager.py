"""Softmax cross-entropy in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from hipward_kernels.ops.cross_entropy.reduction import reduced


def cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """Loss of each row; see `hipward_kernels.ops.cross_entropy`."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return F.cross_entropy(wide, labels, ignore_index=ignore_index, reduction="none")


def cross_entropy_reduced(logits: Tensor, labels: Tensor, ignore_index: int, reduction: str) -> Tensor:
    """See `hipward_kernels.ops.cross_entropy.REDUCED`."""
    return reduced(cross_entropy(logits, labels, ignore_index), labels, ignore_index, reduction)


def cross_entropy_with_normalizers(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.ops.cross_entropy.FORWARD`."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return cross_entropy(logits, labels, ignore_index), wide.logsumexp(-1)


def cross_entropy_backward(
    logits: Tensor, labels: Tensor, normalizers: Tensor, dlosses: Tensor, ignore_index: int
) -> Tensor:
    """See `hipward_kernels.ops.cross_entropy.BACKWARD`."""
    ignored = (labels == ignore_index).unsqueeze(-1)
    probabilities = (logits.to(normalizers.dtype) - normalizers.unsqueeze(-1)).exp()
    picked = torch.zeros_like(probabilities).scatter_(-1, labels.unsqueeze(-1).masked_fill(ignored, 0), 1.0)
    # A choice and not a product: an ignored row has no gradient, even if its logits are not finite.
    return ((probabilities - picked) * dlosses.unsqueeze(-1)).masked_fill(ignored, 0.0).to(logits.dtype)
