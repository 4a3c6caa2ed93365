"""Facts about GPUs, read from `gpus.toml`, which names the source of each figure.

Peaks are dense rates from data sheets. Kernels reach less: 40 to 80 % of these in matrix products on AMD.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if sys.version_info >= (3, 11):
    import tomllib
else:
    try:
        import tomli as tomllib
    except ImportError:
        # A runner's Python may have PyTorch and pip alone; pip includes the same parser.
        from pip._vendor import tomli as tomllib

if TYPE_CHECKING:
    import torch

TABLE = Path(__file__).with_name("gpus.toml")

KIB, MIB = 1024, 1024 * 1024

Fp8 = Literal["fnuz", "ocp"]


_UNITS = {
    "float64": ("fp64_matrix", "fp64_vector"),
    "float32": ("fp32_matrix", "fp32_vector"),
    "float16": ("fp16_matrix",),
    "bfloat16": ("bf16_matrix",),
}
"""Units that compute products of a dtype. Imports no PyTorch: the compilers' worker may have none."""


@dataclass(frozen=True)
class Limits:
    """Limits of the wavefronts on a compute unit; on RDNA, on a workgroup processor (two compute units)."""

    lds_kib: int
    lds_per_workgroup_kib: int
    lds_granule_bytes: int
    simds: int
    waves_per_simd: int
    vgprs: int
    vgpr_granule: int
    workgroups: int | None = None


@dataclass(frozen=True)
class Arch:
    """One architecture. The fields are described in `gpus.toml`; None where the table has no figure."""

    name: str
    """`gfx942`, `sm_90`."""
    vendor: Literal["amd", "nvidia"]
    generation: str
    wavefront: int
    xf32: bool
    matrix: str
    sources: list[str]
    fp8: Fp8 | None = None
    limits: Limits | None = None
    """What fits on a compute unit; None for NVIDIA."""


@dataclass(frozen=True)
class Product:
    """One GPU as PyTorch lists it: a MI250X is two devices. The fields are described in `gpus.toml`."""

    name: str
    match: str
    arch: str
    sources: dict[str, list[str]]
    devices: int = 1
    compute_units: int | None = None
    xcds: int | None = None
    memory_gb: int | None = None
    memory_note: str = ""
    bandwidth_tbs: float | None = None
    """10**12 bytes per second."""
    l2_mib: int | None = None
    infinity_cache_mib: int | None = None
    peak: dict[str, float] = field(default_factory=dict)
    """10**12 operations per second, by dtype and unit: `bf16_matrix`, `fp32_vector`."""

    @property
    def bytes_per_second(self) -> float | None:
        """Bandwidth of the memory."""
        return None if self.bandwidth_tbs is None else self.bandwidth_tbs * 1e12

    @property
    def cache_bytes(self) -> int | None:
        """Size of L2 and Infinity Cache together."""
        if self.l2_mib is None:
            return None
        return (self.l2_mib + (self.infinity_cache_mib or 0)) * MIB

    def matrix_peak(self, dtype: torch.dtype, *, reduced_precision: bool = False) -> float | None:
        """Highest rate of products with factors of `dtype`, in operations per second; None if not in the table.

        Args:
            dtype: Data type of the factors.
            reduced_precision: Whether float32 factors may be rounded to xf32 or TF32.
        """
        name = str(dtype).removeprefix("torch.")
        units = _UNITS.get(name, ("fp8_matrix",) if name.startswith("float8") else ())
        names = (*units, "tf32_matrix") if name == "float32" and reduced_precision else units
        rates = [self.peak[name] for name in names if name in self.peak]
        return max(rates) * 1e12 if rates else None


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    with TABLE.open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)
    return table


@lru_cache(maxsize=1)
def archs() -> dict[str, Arch]:
    """Every architecture of the table, by name."""
    found = {}
    for name, facts in _table()["arch"].items():
        limits = Limits(**facts["limits"]) if "limits" in facts else None
        found[name] = Arch(**{**facts, "name": name, "limits": limits})
    return found


@lru_cache(maxsize=64)
def wavefront_of(arch: str) -> int:
    """Lanes of a wavefront: 64 on gfx9 (CDNA), 32 on gfx10 and later (RDNA, gfx1250) and on NVIDIA.

    An architecture that the table does not have has the width of its generation.
    """
    if (known := archs().get(arch)) is not None:
        return known.wavefront
    return 64 if arch.startswith("gfx9") else 32


@lru_cache(maxsize=1)
def products() -> tuple[Product, ...]:
    """Every product of the table. The order decides between two whose patterns match one name."""
    return tuple(Product(**facts) for facts in _table()["product"])


@lru_cache(maxsize=1)
def sources() -> dict[str, dict[str, str]]:
    """Name and URL of each source, by its key."""
    return {key: dict(source) for key, source in _table()["source"].items()}


def product_named(device_name: str) -> Product | None:
    """The product that PyTorch names `device_name`, or None if the table does not have it."""
    return next((product for product in products() if re.search(product.match, device_name)), None)


def products_of(arch: str) -> list[Product]:
    """The products of an architecture."""
    return [product for product in products() if product.arch == arch]
