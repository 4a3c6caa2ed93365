"""Occupancy: the number of wavefronts that a compute unit holds at once, from the resources of a kernel.

The limits of each architecture are in `gpu/gpus.toml`, from LLVM's AMDGPU backend and AMD's documentation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hipward_kernels.gpu.facts import KIB, archs

if TYPE_CHECKING:
    from hipward_kernels.gpu.facts import Limits

Limit = Literal["hardware", "registers", "lds", "workgroups"]


@dataclass(frozen=True)
class Occupancy:
    """Number of wavefronts that fit on a compute unit; on RDNA, on a workgroup processor (two compute units)."""

    waves_per_simd: int
    """Limited by registers, and by LDS of a size that is known at compile time: the compiler's own figure."""
    workgroup_waves: int
    """Wavefronts of a workgroup, which the next two figures are for."""
    waves_per_cu: int
    """Limited by registers, LDS and whole workgroups together."""
    limited_by: Limit


def _limits(arch: str) -> Limits:
    """Limits of an architecture; for one that is not in the table, those of gfx90a (gfx9) or gfx1100 (later)."""
    known = archs()
    found = (known.get(arch) or known["gfx90a" if arch.startswith("gfx9") else "gfx1100"]).limits
    assert found is not None  # noqa: S101 - every AMD architecture of the table has limits
    return found


def occupancy(arch: str, waves_per_simd: int, lds_bytes: int, workgroup_waves: int) -> Occupancy:
    """Computes how many whole workgroups fit on a compute unit.

    Args:
        arch: The architecture, such as `gfx942`.
        waves_per_simd: Wavefronts whose registers fit on a SIMD.
        lds_bytes: LDS of a workgroup.
        workgroup_waves: Wavefronts of a workgroup.
    """
    limits = _limits(arch)
    lds = math.ceil(lds_bytes / limits.lds_granule_bytes) * limits.lds_granule_bytes
    workgroups: dict[Limit, int] = {}
    # LDS is first: where both allow the same, the compiler's figure for registers includes LDS already.
    if lds:
        workgroups["lds"] = limits.lds_kib * KIB // lds
    limit: Limit = "hardware" if waves_per_simd == limits.waves_per_simd else "registers"
    workgroups[limit] = waves_per_simd * limits.simds // workgroup_waves
    if workgroup_waves > 1 and limits.workgroups is not None:
        workgroups["workgroups"] = limits.workgroups
    tightest = min(workgroups, key=lambda name: workgroups[name])
    return Occupancy(waves_per_simd, workgroup_waves, workgroups[tightest] * workgroup_waves, tightest)
