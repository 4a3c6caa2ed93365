"""GELU-tanh×mul in HIP: the kernels of `hip.hip`, launched by `hipward_kernels.ops.gated.hip`."""

from __future__ import annotations

from pathlib import Path

from hipward_kernels.ops.gated.hip import Gated, takes

__all__ = ["gelu_mul", "takes"]

gelu_mul = Gated("gelu_mul", Path(__file__).with_name("hip.hip"))
"""See `hipward_kernels.ops.gelu_mul`."""
