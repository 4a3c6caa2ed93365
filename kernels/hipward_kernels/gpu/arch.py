"""The architecture of a device, and the properties that launches depend on.

Reads PyTorch's device properties and `gpus.toml`; launches no kernel.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from hipward_kernels.gpu.facts import archs


@lru_cache(maxsize=64)
def get_gfx(device: int = 0) -> str:
    """The name of a device's architecture: `gfx942` on AMD, `sm_90` on NVIDIA, `cpu` for the device -1."""
    if device < 0 or not torch.cuda.is_available():
        return "cpu"
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        # The name has features: `gfx942:sramecc+:xnack-`.
        return str(properties.gcnArchName).partition(":")[0]
    return f"sm_{properties.major}{properties.minor}"


@lru_cache(maxsize=64)
def cluster_of(arch: str) -> int:
    """Largest cluster of thread blocks that share memory with each other; 1 where the architecture has no clusters."""
    return 8 if _capability(arch) >= 90 else 1


def _capability(arch: str) -> int:
    """Compute capability of an NVIDIA architecture as a number, such as 90; 0 for other architectures."""
    return int(arch.removeprefix("sm_").rstrip("af")) if arch.startswith("sm_") else 0


@lru_cache(maxsize=64)
def fp8_dtype(arch: str) -> torch.dtype | None:
    """The 8-bit floating dtype of an architecture's matrix units, or None where they have none.

    gfx942 has AMD's e4m3fnuz (largest value 240, no infinity, no negative zero); gfx950, gfx12 and NVIDIA from sm_89 on
    have the OCP's e4m3fn (largest value 448).
    """
    known = archs().get(arch)
    format_ = known.fp8 if known is not None else "ocp" if _capability(arch) >= 89 else None
    return {"fnuz": torch.float8_e4m3fnuz, "ocp": torch.float8_e4m3fn, None: None}[format_]
