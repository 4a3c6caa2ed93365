"""Gate and up projections of a SwiGLU layer as one matrix product.

The two weights are concatenated once, at load. `x` is then read once and one GEMM is launched instead of two.
The fused GEMM has a shape of its own, so configurations tuned for its parts do not apply to it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.ops import silu_mul


class FusedGateUp(nn.Module):
    """`silu(gate(x)) * up(x)` with one matrix product of weight `[2H, K]`: gate's rows, then up's."""

    def __init__(self, gate: nn.Linear, up: nn.Linear) -> None:
        super().__init__()
        if gate.weight.shape != up.weight.shape:
            raise ValueError(
                f"gate's weight is {list(gate.weight.shape)}, up's {list(up.weight.shape)}; they must be alike"
            )
        self.weight = nn.Parameter(
            torch.cat([gate.weight.detach(), up.weight.detach()]),
            requires_grad=gate.weight.requires_grad or up.weight.requires_grad,
        )
        # PyTorch types a missing bias as a tensor.
        biases: list[Tensor | None] = [gate.bias, up.bias]
        self.bias = None
        if any(bias is not None for bias in biases):
            zeros = gate.weight.new_zeros(gate.out_features)
            joined = torch.cat([zeros if bias is None else bias.detach() for bias in biases])
            self.bias = nn.Parameter(joined, requires_grad=self.weight.requires_grad)

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to a tensor of shape `[..., H]`."""
        # The halves are views that share rows; silu_mul takes strides, so nothing is copied.
        gate, up = F.linear(x, self.weight, self.bias).chunk(2, dim=-1)
        return silu_mul(gate, up)


class FusedGatedMLP(nn.Module):
    """`down(silu(gate(x)) * up(x))` with gate and up as one matrix product."""

    def __init__(self, gate: nn.Linear, up: nn.Linear, down: nn.Linear | None) -> None:
        super().__init__()
        self.gate_up = FusedGateUp(gate, up)
        self.down_proj = down

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]`; the result ends in the outputs of `down`, or of `gate` without it."""
        hidden = self.gate_up(x)
        return hidden if self.down_proj is None else self.down_proj(hidden)  # type: ignore[no-any-return]
