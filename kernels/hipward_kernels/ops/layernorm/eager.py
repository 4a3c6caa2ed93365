"""LayerNorm in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

import torch
from torch import Tensor


def layernorm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """See `hipward_kernels.ops.layernorm`."""
    wide = x if x.dtype == torch.float64 else x.float()
    centred = wide - wide.mean(-1, keepdim=True)
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    if weight is not None:
        y = y * weight.to(y.dtype)
    if bias is not None:
        y = y + bias.to(y.dtype)
    return y.to(x.dtype).contiguous()
