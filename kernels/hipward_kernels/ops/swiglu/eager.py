"""SwiGLU's activation in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.ops.silu_mul.eager import silu_mul

if TYPE_CHECKING:
    from torch import Tensor


def swiglu(gate_up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.swiglu`."""
    gate, up = gate_up.chunk(2, dim=-1)
    return silu_mul(gate, up)


def swiglu_backward(gate_up: Tensor, dy: Tensor) -> Tensor:
    """See `hipward_kernels.ops.swiglu.BACKWARD`."""
    wide = torch.float64 if gate_up.dtype == torch.float64 else torch.float32
    gate, up = gate_up.to(wide).chunk(2, dim=-1)
    outer, s = dy.to(wide), torch.sigmoid(gate)
    halves = (outer * up * (s + gate * s * (1 - s)), outer * gate * s)
    return torch.cat(halves, dim=-1).to(gate_up.dtype)
