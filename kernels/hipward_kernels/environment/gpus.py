"""What data sheets promise for each GPU: bandwidth of memory and rate of the matrix units.

Dense rates, no sparsity. AMD: ROCm's documentation, `reference/gpu-arch-specs` and the architecture pages of MI100,
MI250 and MI300; MI350 from AMD's data sheets. NVIDIA: the data sheets of A100, H100, H200 and B200, SXM versions.
Achieved rates are lower: 40 to 80 % of these for matrix products on AMD. They are bounds, not expectations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One GPU as PyTorch shows it: a MI250X is two of these."""

    pattern: str
    """Matches PyTorch's name of the device."""
    bandwidth: float
    """Of memory, in 10**12 bytes a second."""
    tf32: float
    """Matrix products of float32 tensors, in the fastest mode that their dtype allows; 10**12 operations a second."""
    bf16: float
    """Matrix products of 16-bit floats."""
    fp64: float
    cache_bytes: int
    """Last-level cache: Infinity Cache on MI300 and later, L2 elsewhere."""


MIB = 1024 * 1024

GPUS = (
    Gpu(r"MI355X", 8.0, 157.3, 2516.6, 78.6, 256 * MIB),
    Gpu(r"MI350X", 8.0, 144.2, 2309.6, 72.1, 256 * MIB),
    Gpu(r"MI325X", 6.0, 653.7, 1307.4, 163.4, 256 * MIB),
    Gpu(r"MI300X", 5.3, 653.7, 1307.4, 163.4, 256 * MIB),
    Gpu(r"MI300A", 5.3, 490.3, 980.6, 122.6, 256 * MIB),
    Gpu(r"MI250X", 1.638, 47.9, 191.5, 47.9, 8 * MIB),
    Gpu(r"MI250\b", 1.638, 45.3, 181.0, 45.3, 8 * MIB),
    Gpu(r"MI210", 1.638, 45.3, 181.0, 45.3, 8 * MIB),
    Gpu(r"MI100", 1.228, 46.1, 184.6, 11.5, 8 * MIB),
    Gpu(r"B200", 8.0, 1125.0, 2250.0, 40.0, 126 * MIB),
    Gpu(r"H200", 4.8, 494.7, 989.4, 66.9, 50 * MIB),
    Gpu(r"H100(?!.*PCIe)", 3.35, 494.7, 989.4, 66.9, 50 * MIB),
    Gpu(r"H100.*PCIe", 2.0, 378.0, 756.0, 51.2, 50 * MIB),
    Gpu(r"A100.*80GB", 2.039, 156.0, 312.0, 19.5, 40 * MIB),
    Gpu(r"A100", 1.555, 156.0, 312.0, 19.5, 40 * MIB),
)


def gpu_named(name: str) -> Gpu | None:
    """The entry for a device of this name, or None for one that is not listed."""
    return next((gpu for gpu in GPUS if re.search(gpu.pattern, name)), None)
