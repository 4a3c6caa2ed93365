"""SwiGLU's activation in plain PyTorch: the definition that the other implementations must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.ops.silu_mul.eager import silu_mul

if TYPE_CHECKING:
    from torch import Tensor


def swiglu(gate_up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.swiglu`."""
    gate, up = gate_up.chunk(2, dim=-1)
    return silu_mul(gate, up)
