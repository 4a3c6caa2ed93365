"""Facts about the devices of this host, as PyTorch and Linux tell them."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

MIB = 1024 * 1024

INFINITY_CACHE_FLUSH = {"gfx942": 576 * MIB, "gfx950": 576 * MIB}
"""Twice L2 and Infinity Cache (32 + 256 MiB) of MI300X, MI325X, MI350X and MI355X. The runtime reports the L2 of one
XCD (4 MB), and flushing twice that leaves a tensor in the Infinity Cache and in most of L2."""

SMALLEST_FLUSH = 64 * MIB


@dataclass(frozen=True)
class Device:
    """One thing a job can run on; `Device` in `runner/protocol/src/device.rs`."""

    id: str
    name: str
    vendor: Literal["amd", "nvidia", "cpu"]
    arch: str
    memory_bytes: int


def describe(device: torch.device) -> Device:
    """Name, maker, architecture and memory of `device`."""
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
    """How much must be written to push everything out of a GPU's caches: twice their size."""
    arch = describe(device).arch
    l2 = torch.cuda.get_device_properties(device).L2_cache_size
    return INFINITY_CACHE_FLUSH.get(arch, max(2 * l2, SMALLEST_FLUSH))


def driver_version(device: torch.device) -> str | None:
    """Version of the kernel driver of a GPU, where Linux says it."""
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
