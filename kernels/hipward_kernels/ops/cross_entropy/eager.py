"""Softmax cross-entropy in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """Loss of each row; see `hipward_kernels.ops.cross_entropy`."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return F.cross_entropy(wide, labels, ignore_index=ignore_index, reduction="none")
