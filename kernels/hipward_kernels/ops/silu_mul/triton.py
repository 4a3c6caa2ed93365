"""SiLU×mul in Triton; the kernels are in `hipward_kernels.ops.gated.triton`."""

from __future__ import annotations

from hipward_kernels.ops.gated.triton import gated

silu_mul = gated("silu_mul", gelu=False)
"""See `hipward_kernels.ops.silu_mul`."""
