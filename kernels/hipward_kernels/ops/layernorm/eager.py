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


def layernorm_with_statistics(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """See `hipward_kernels.ops.layernorm.FORWARD`."""
    wide = x if x.dtype == torch.float64 else x.float()
    mean = wide.mean(-1)
    scale = torch.rsqrt((wide - mean.unsqueeze(-1)).square().mean(-1) + eps)
    return layernorm(x, weight, bias, eps), mean.flatten(), scale.flatten()


def layernorm_backward(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """See `hipward_kernels.ops.layernorm.BACKWARD`."""
    wide = mean.dtype
    mean, r = (row.view(*x.shape[:-1], 1) for row in (mean, scale))
    z, outer = (x.to(wide) - mean) * r, dy.to(wide)
    g = outer if weight is None else outer * weight.to(wide)
    dx = r * (g - g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True))
    sums = ((outer * z).flatten(0, -2).sum(0), outer.flatten(0, -2).sum(0)) if x.dim() > 1 else (outer * z, outer)
    dweight, dbias = (None if p is None else total.to(p.dtype) for p, total in zip((weight, bias), sums, strict=True))
    return dx.to(x.dtype), dweight, dbias
