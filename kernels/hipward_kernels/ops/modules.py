"""The fused ops as modules, to stand where a model has its own.

`RMSNorm` stands for one normalization layer, `SiLUMul` for an activation, `GatedMLP` for a feed-forward
layer whose projections stay separate. Projections that become one matrix product are in
`hipward_kernels.projections`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hipward_kernels.ops import rmsnorm, silu_mul


class RMSNorm(nn.Module):
    """Root mean square normalization of the last dimension; see `hipward_kernels.ops.rmsnorm`."""

    def __init__(self, weight: nn.Parameter | None, eps: float | None, offset: float = 0.0) -> None:
        """`offset` is added to the weight: Gemma and others keep its distance from one.

        `eps=None` is the rounding step of the dtype that is computed in, as `torch.nn.RMSNorm` does it: PyTorch's
        documentation says the input's dtype; its kernels take float32's for 16-bit inputs.
        """
        super().__init__()
        self.weight = weight
        self.eps = eps
        self.offset = offset

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., N]` to a tensor of the same shape and dtype."""
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        weight = self.weight + self.offset if self.weight is not None and self.offset else self.weight
        return rmsnorm(x, weight, torch.finfo(wide).eps if self.eps is None else self.eps)


class SiLUMul(nn.Module):
    """SiLU of the gate times the other factor; see `hipward_kernels.ops.silu_mul`."""

    def forward(self, gate: Tensor, up: Tensor | None = None) -> Tensor:
        """Two tensors of one shape; or one whose last dimension holds the gate, then the other factor."""
        if up is None:
            gate, up = gate.chunk(2, dim=-1)
        return silu_mul(gate, up)


class GatedMLP(nn.Module):
    """`down(silu(gate(x)) * up(x))`, the SwiGLU feed-forward layer, with SiLU×mul as one kernel."""

    def __init__(self, gate: nn.Linear, up: nn.Linear, down: nn.Linear | None) -> None:
        super().__init__()
        self.gate_proj = gate
        self.up_proj = up
        self.down_proj = down

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]`; the result ends in the outputs of `down`, or of `gate` without it."""
        hidden = silu_mul(self.gate_proj(x), self.up_proj(x))
        return hidden if self.down_proj is None else self.down_proj(hidden)
