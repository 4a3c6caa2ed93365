"""The highest rates of this device, measured with a large matrix product and a large copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from hipward_kernels.bench.perftest import copy_rate
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.harness.timing import clock_for

if TYPE_CHECKING:
    from hipward_kernels.models.training import Precision

SAMPLES = 20


@dataclass(frozen=True)
class Ceilings:
    """The rates of a roofline."""

    flops_per_second: float
    """Rate of a product of square matrices in the given precision; a multiplication and an addition count as two."""
    bytes_per_second: float
    """Bytes that a copy reads and writes per second."""


def measured(device: torch.device, precision: Precision) -> Ceilings:
    """Measures both rates on `device`; TF32 follows the process's setting (`matmul_precision`)."""
    clock = clock_for(device)
    size = 8192 if device.type == "cuda" else 512
    dtype = torch.float32 if precision == "tf32" else getattr(torch, precision)
    a, b = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))
    torch.mm(a, b)
    times, _ = clock.samples(torch.mm, [(a, b)] * SAMPLES)
    return Ceilings(2 * size**3 / (median_interval(times)[0] * 1e-3), 1e9 * copy_rate(device))
