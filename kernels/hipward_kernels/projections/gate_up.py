"""Gate and up projections of a gated feed-forward layer as one matrix product.

The two weights are concatenated once, at load. `x` is then read once and one GEMM is launched instead of two.
The fused GEMM has a shape of its own, so configurations tuned for its parts do not apply to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor, nn

from hipward_kernels.ops import gelu_mul, silu_mul, swiglu
from hipward_kernels.ops.autograd import trains
from hipward_kernels.projections.joined import Joined

if TYPE_CHECKING:
    from collections.abc import Callable

Activation = Literal["silu", "gelu_tanh"]

ACTIVATIONS: dict[Activation, Callable[[Tensor, Tensor], Tensor]] = {"silu": silu_mul, "gelu_tanh": gelu_mul}


class FusedGateUp(Joined):
    """`activation(gate(x)) * up(x)` with one matrix product of weight `[2H, K]`: gate's rows, then up's."""

    def __init__(self, gate: nn.Linear, up: nn.Linear, activation: Activation = "silu") -> None:
        if gate.weight.shape != up.weight.shape:
            raise ValueError(
                f"gate's weight is {list(gate.weight.shape)}, up's {list(up.weight.shape)}; they must be alike"
            )
        super().__init__([gate, up])
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to a tensor of shape `[..., H]`."""
        both = self.product(x)
        if self.activation is silu_mul and trains(both):
            # Its gradient is one tensor. Autograd would concatenate those of two halves.
            return swiglu(both)
        # The halves are views that share rows; the op takes strides, so nothing is copied.
        gate, up = both.chunk(2, dim=-1)
        return self.activation(gate, up)


class FusedGatedMLP(nn.Module):
    """`down(activation(gate(x)) * up(x))` with gate and up as one matrix product."""

    def __init__(self, gate: nn.Linear, up: nn.Linear, down: nn.Linear | None, activation: Activation = "silu") -> None:
        super().__init__()
        self.gate_up = FusedGateUp(gate, up, activation)
        self.down_proj = down

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]`; the result ends in the outputs of `down`, or of `gate` without it."""
        hidden = self.gate_up(x)
        return hidden if self.down_proj is None else self.down_proj(hidden)  # type: ignore[no-any-return]
