"""How many wavefronts a compute unit holds at once, from what one of them needs.

Limits of CDNA GPUs: AMD's instruction set documents and LLVM's "User Guide for AMDGPU Backend". Each compute unit has
four SIMDs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

SIMDS = 4
MOST_WAVES = 8
"""Wavefronts that a SIMD of CDNA 2 to 4 keeps at most, however few registers they need."""
MOST_WORKGROUPS = 16
"""Workgroups of more than one wavefront on a compute unit: each needs one of 16 barriers."""

LDS_BYTES = {"gfx950": 160 * 1024}
"""LDS of a compute unit where it is not 64 KiB."""
LDS_DEFAULT = 64 * 1024
LDS_GRANULARITY = {"gfx950": 1280}
"""LDS is handed out in pieces of so many bytes, and of 512 elsewhere."""
LDS_GRANULARITY_DEFAULT = 512

Limit = Literal["hardware", "registers", "lds", "workgroups"]


@dataclass(frozen=True)
class Occupancy:
    """What fits on a compute unit."""

    waves_per_simd: int
    """By registers, and by LDS that is known when it is compiled: the compilers' own figure."""
    workgroup_waves: int
    """Wavefronts of a workgroup that the next two are for."""
    waves_per_cu: int
    """By registers, LDS and whole workgroups together."""
    limited_by: Limit


def occupancy(arch: str, waves_per_simd: int, lds_bytes: int, workgroup_waves: int) -> Occupancy:
    """Fits whole workgroups into a compute unit.

    Args:
        arch: The GPU.
        waves_per_simd: Wavefronts that a SIMD's registers hold.
        lds_bytes: Shared memory of a workgroup.
        workgroup_waves: Wavefronts of a workgroup.
    """
    granularity = LDS_GRANULARITY.get(arch, LDS_GRANULARITY_DEFAULT)
    lds = math.ceil(lds_bytes / granularity) * granularity
    workgroups: dict[Limit, int] = {}
    # LDS first: where both allow the same, the compilers' figure for registers has LDS in it already.
    if lds:
        workgroups["lds"] = LDS_BYTES.get(arch, LDS_DEFAULT) // lds
    workgroups["hardware" if waves_per_simd == MOST_WAVES else "registers"] = waves_per_simd * SIMDS // workgroup_waves
    if workgroup_waves > 1:
        workgroups["workgroups"] = MOST_WORKGROUPS
    tightest = min(workgroups, key=lambda limit: workgroups[limit])
    return Occupancy(waves_per_simd, workgroup_waves, workgroups[tightest] * workgroup_waves, tightest)
