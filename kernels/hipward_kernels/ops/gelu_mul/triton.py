"""GELU-tanh×mul in Triton; the kernels are in `hipward_kernels.ops.gated.triton`."""

from __future__ import annotations

from hipward_kernels.ops.gated.triton import gated

gelu_mul = gated("gelu_mul", gelu=True)
"""See `hipward_kernels.ops.gelu_mul`."""
