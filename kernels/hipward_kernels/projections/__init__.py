"""Several linear layers that read the same input, as one matrix product."""

from hipward_kernels.projections.gate_up import FusedGatedMLP, FusedGateUp
from hipward_kernels.projections.qkv import FusedQKV

__all__ = ["FusedGateUp", "FusedGatedMLP", "FusedQKV"]
