"""What a GPU is: its architecture, and the properties that choices depend on. Reads PyTorch; launches nothing."""

from __future__ import annotations

from functools import lru_cache

import torch

WAVE_AMD = 64
"""Lanes of a wave on every CDNA GPU."""
WAVE_NVIDIA = 32


@lru_cache(maxsize=64)
def get_gfx(device: int = 0) -> str:
    """The architecture's name: `gfx942` on AMD, `sm_90` on NVIDIA, `cpu` for the device -1."""
    if device < 0 or not torch.cuda.is_available():
        return "cpu"
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        # With features: `gfx942:sramecc+:xnack-`.
        return str(properties.gcnArchName).partition(":")[0]
    return f"sm_{properties.major}{properties.minor}"


def wave_of(arch: str) -> int:
    """Lanes of a wave of an architecture: 64 for gfx9 (CDNA), 32 elsewhere."""
    return WAVE_AMD if arch.startswith("gfx9") else WAVE_NVIDIA


def cluster_of(arch: str) -> int:
    """Most neighbouring blocks that an architecture runs at once, with access to each other's shared memory."""
    return 8 if _capability(arch) >= 90 else 1


def _capability(arch: str) -> int:
    """An NVIDIA architecture as a number, such as 90; 0 for others."""
    return int(arch.removeprefix("sm_").rstrip("af")) if arch.startswith("sm_") else 0


def fp8_dtype(arch: str) -> torch.dtype | None:
    """The 8-bit floating dtype that an architecture's matrix units take, for weights and activations; None without any.

    gfx942 has AMD's own e4m3fnuz (largest value 240, no infinity, no negative zero); gfx950 and NVIDIA from sm_89 on
    have the OCP's e4m3fn (largest value 448).
    """
    if arch == "gfx942":
        return torch.float8_e4m3fnuz
    if arch == "gfx950" or arch.startswith("gfx12"):
        return torch.float8_e4m3fn
    if _capability(arch) >= 89:
        return torch.float8_e4m3fn
    return None
