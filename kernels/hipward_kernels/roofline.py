"""What a GPU can do at most, from data sheets, and which of its two limits an operation meets first.

The roofline model (Williams, Waterman and Patterson 2009, https://doi.org/10.1145/1498765.1498785): an operation that
does `flops` and moves `bytes` takes at least the longer of `flops / peak flops` and `bytes / bandwidth`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

Bound = Literal["memory", "compute"]


@dataclass(frozen=True)
class Peak:
    """A GPU's data sheet: dense rates of the matrix units, without sparsity."""

    bytes_per_second: float
    flops: dict[str, float]
    """Per second, by the dtype of the factors: `bf16` (and fp16), `fp8`, `fp32`."""


PEAKS: dict[str, Peak] = {
    "MI210": Peak(1.638e12, {"bf16": 181e12, "fp32": 45.3e12}),
    # PyTorch sees each half of an MI250X as a device.
    "MI250X": Peak(1.638e12, {"bf16": 191.5e12, "fp32": 47.9e12}),
    "MI300A": Peak(5.3e12, {"bf16": 980.6e12, "fp8": 1961.2e12, "fp32": 122.6e12}),
    "MI300X": Peak(5.3e12, {"bf16": 1307.4e12, "fp8": 2614.9e12, "fp32": 163.4e12}),
    "MI325X": Peak(6.0e12, {"bf16": 1307.4e12, "fp8": 2614.9e12, "fp32": 163.4e12}),
    "MI350X": Peak(8.0e12, {"bf16": 2309.6e12, "fp8": 4614e12, "fp32": 144.2e12}),
    "MI355X": Peak(8.0e12, {"bf16": 2516.6e12, "fp8": 5033.2e12, "fp32": 157.3e12}),
    "H100": Peak(3.35e12, {"bf16": 989.4e12, "fp8": 1978.9e12, "fp32": 66.9e12}),
    "H200": Peak(4.8e12, {"bf16": 989.4e12, "fp8": 1978.9e12, "fp32": 66.9e12}),
}
"""By a part of the device's name."""


def peak_of(device_name: str) -> Peak | None:
    """The data sheet of a device, or None for one that is not in the table, a CPU among them."""
    return next((peak for name, peak in PEAKS.items() if name in device_name), None)


def dtype_name(dtype: torch.dtype) -> str:
    """A dtype as the table names it."""
    if dtype in (torch.bfloat16, torch.float16):
        return "bf16"
    return "fp8" if dtype.itemsize == 1 else "fp32"


@dataclass(frozen=True)
class Floor:
    """The least time that an operation can take on a device."""

    seconds: float
    bound: Bound
    """Which limit it is."""


def floor(peak: Peak, dtype: torch.dtype, bytes_moved: float, flops: float) -> Floor:
    """The roofline of an operation."""
    memory = bytes_moved / peak.bytes_per_second
    compute = flops / peak.flops.get(dtype_name(dtype), peak.flops["fp32"])
    return Floor(memory, "memory") if memory >= compute else Floor(compute, "compute")
