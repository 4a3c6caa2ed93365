"""GELU-tanh×mul in Triton; the kernels are in `hipward_kernels.ops.gated.triton`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.ops.gated.triton import gated

if TYPE_CHECKING:
    from torch import Tensor


def gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.gelu_mul`."""
    return gated(gate, up, True)
