"""The devices of this host, as PyTorch and Linux report them."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

from hipward_kernels.gpu.facts import products_of

MIB = 1024 * 1024

SMALLEST_FLUSH = 64 * MIB


@dataclass(frozen=True)
class Device:
    """A device that a job can run on; `Device` in `runner/protocol/src/device.rs`."""

    id: str
    name: str
    vendor: Literal["amd", "nvidia", "cpu"]
    arch: str
    memory_bytes: int


def describe(device: torch.device) -> Device:
    """Name, vendor, architecture and memory size of `device`."""
    if device.type == "cpu":
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return Device("cpu", _processor_name(), "cpu", platform.machine(), memory)
    properties = torch.cuda.get_device_properties(device)
    index = device.index or 0
    if torch.version.hip:
        # gcnArchName carries feature flags: gfx942:sramecc+:xnack-
        arch = properties.gcnArchName.split(":")[0]
        return Device(f"cuda:{index}", properties.name, "amd", arch, properties.total_memory)
    arch = f"sm_{properties.major}{properties.minor}"
    return Device(f"cuda:{index}", properties.name, "nvidia", arch, properties.total_memory)


def all_devices() -> list[Device]:
    """Every device of this host, GPUs first."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = [*(f"cuda:{index}" for index in range(gpus)), "cpu"]
    return [describe(torch.device(name)) for name in names]


def flush_bytes(device: torch.device) -> int:
    """Number of bytes to write so that nothing older is left in a GPU's caches: twice their size.

    Where products of the architecture have an Infinity Cache, the size is that of the table. The runtime reports the L2
    of one XCD alone (4 MB on MI300X), and flushing twice that leaves a tensor in the Infinity Cache and in most of L2.
    """
    caches = [
        product.cache_bytes
        for product in products_of(describe(device).arch)
        if product.infinity_cache_mib and product.cache_bytes
    ]
    l2: int = torch.cuda.get_device_properties(device).L2_cache_size
    return 2 * max(caches) if caches else max(2 * l2, SMALLEST_FLUSH)


def driver_version(device: torch.device) -> str | None:
    """Version of the kernel driver of a GPU, or None where Linux does not report it."""
    if device.type == "cpu":
        return None
    if torch.version.hip:
        return _read("/sys/module/amdgpu/version") or None
    found = re.search(r"Module.*?\s(\d+\.[\d.]+)\s", _read("/proc/driver/nvidia/version"))
    return found.group(1) if found else None


@lru_cache(maxsize=1)
def _processor_name() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
