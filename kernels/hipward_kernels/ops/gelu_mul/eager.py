"""GELU-tanh×mul in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.gelu_mul`."""
    wide = torch.float64 if gate.dtype == torch.float64 else torch.float32
    return (F.gelu(gate.to(wide), approximate="tanh") * up.to(wide)).to(gate.dtype).contiguous()
