"""SwiGLU's activation in HIP: the kernels of `silu_mul`, whose backward can write both halves of one tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipward_kernels.dispatch import tuning
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.gated.hip import takes
from hipward_kernels.ops.silu_mul.hip import silu_mul
from hipward_kernels.ops.swiglu.autograd import function

if TYPE_CHECKING:
    from torch import Tensor


def forward(gate_up: Tensor) -> Any:
    """The activation without autograd; `NotImplemented` if vectors do not fit."""
    gate, up = gate_up.chunk(2, dim=-1)
    return silu_mul.forward(gate, up)


training.register("swiglu", silu_mul.joined_for_training)
trained = function(forward, silu_mul.backward_joined)


def swiglu(gate_up: Tensor) -> Any:
    """See `hipward_kernels.ops.swiglu`."""
    if trains(gate_up):
        y = training.run("swiglu", gate_up, tuning.generation)
        if y is not None:
            return y
        return trained(gate_up) if differentiable(gate_up) else NotImplemented
    return forward(gate_up)


def differentiable(gate_up: Tensor) -> bool:
    """Whether the kernels support this argument."""
    gate, up = gate_up.chunk(2, dim=-1)
    # A single row is contiguous, but its gradient has two halves all the same.
    return takes(gate, up) and gate.shape[-1] * gate.itemsize % 16 == 0


def swiglu_backward(gate_up: Tensor, dy: Tensor) -> Any:
    """See `hipward_kernels.ops.swiglu.BACKWARD`."""
    return silu_mul.backward_joined(dy, gate_up) if differentiable(gate_up) else NotImplemented
