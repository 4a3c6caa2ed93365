"""Softmax in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax(x: Tensor) -> Tensor:
    """See `hipward_kernels.ops.softmax`."""
    wide = x if x.dtype == torch.float64 else x.float()
    return torch.softmax(wide, -1).to(x.dtype).contiguous()
