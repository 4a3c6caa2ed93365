"""SiLU×mul in HIP: the kernels of `hip.hip`, launched by `hipward_kernels.ops.gated.hip`."""

from __future__ import annotations

from pathlib import Path

from hipward_kernels.ops.gated.hip import Gated, takes

__all__ = ["silu_mul", "takes"]

silu_mul = Gated("silu_mul", Path(__file__).with_name("hip.hip"))
"""See `hipward_kernels.ops.silu_mul`."""
