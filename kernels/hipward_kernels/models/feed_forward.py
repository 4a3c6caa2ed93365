"""The SwiGLU feed-forward part of a layer (Shazeer 2020, https://arxiv.org/abs/2002.05202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.ops import silu_mul
from hipward_kernels.ops.swiglu import swiglu

if TYPE_CHECKING:
    from hipward_kernels.models.config import Config, Switches


class FeedForward(nn.Module):
    """`down(silu(gate(x)) * up(x))`."""

    def __init__(self, config: Config, switches: Switches) -> None:
        super().__init__()
        self.switches = switches
        if switches.fused_gate_up:
            self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        else:
            self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
            self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[B, S, hidden]` to the same shape."""
        if self.switches.swiglu_kernel:
            return self.down_proj(swiglu(self.gate_up_proj(x)))  # type: ignore[no-any-return]
        if self.switches.fused_gate_up:
            gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        else:
            gate, up = self.gate_proj(x), self.up_proj(x)
        active = silu_mul(gate, up) if self.switches.silu_mul_kernel else F.silu(gate) * up
        return self.down_proj(active)  # type: ignore[no-any-return]
