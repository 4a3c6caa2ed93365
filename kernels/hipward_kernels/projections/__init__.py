"""Several linear layers that read the same input, as one matrix product.

Example:
    >>> import torch
    >>> from hipward_kernels.projections import FusedQKV
    >>> query, key, value = (torch.nn.Linear(4096, rows) for rows in (4096, 1024, 1024))
    >>> joined = FusedQKV(query, key, value, heads=32, kv_heads=8)
    >>> [tuple(part.shape) for part in joined(torch.randn(2, 16, 4096))]
    [(2, 16, 32, 128), (2, 16, 8, 128), (2, 16, 8, 128)]
"""

from hipward_kernels.projections.gate_up import FusedGatedMLP, FusedGateUp
from hipward_kernels.projections.qkv import FusedQKV

__all__ = ["FusedGateUp", "FusedGatedMLP", "FusedQKV"]
