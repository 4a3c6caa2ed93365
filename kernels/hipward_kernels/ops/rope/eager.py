"""RoPE in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout


def rope(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.rope`."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    # One table for all heads: [S, P] and [B, S, P] both become [..., S, 1, P].
    cos, sin = cos.unsqueeze(-2).to(wide), sin.unsqueeze(-2).to(wide)
    turning, rest = torch.split(x, [2 * cos.shape[-1], x.shape[-1] - 2 * cos.shape[-1]], dim=-1)
    a, b = (
        turning.to(wide).chunk(2, dim=-1)
        if layout == "half"
        else torch.unflatten(turning.to(wide), -1, (-1, 2)).unbind(-1)
    )
    turned = (a * cos - b * sin, b * cos + a * sin)
    y = torch.cat(turned, dim=-1) if layout == "half" else torch.stack(turned, dim=-1).flatten(-2)
    return torch.cat([y.to(x.dtype), rest], dim=-1)


def rope_backward(dy: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """See `hipward_kernels.ops.rope.BACKWARD`."""
    return rope(dy, cos, -sin, layout)
