"""Recommended settings that need no change of code: environment variables, kernel settings, clocks.

An entry has the recommended values, the reason, and the command that sets them. Sources: ROCm's documentation, "MI300X
workload optimization", "System optimization" and the environment variables of HIP; PyTorch's notes on HIP and
TunableOp. Advice that is obsolete in current versions is listed as such, because it is still widespread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["variable", "file"]
Vendors = Literal["amd", "nvidia", "any"]

UNSET = ""
"""A recommended value: the variable is not set."""


@dataclass(frozen=True)
class Setting:
    """A setting of a host."""

    name: str
    """An environment variable, or the path of a file below the root."""
    where: Where
    vendor: Vendors
    good: tuple[str, ...]
    """Recommended values. Empty: any value; the entry is only reported."""
    why: str
    command: str
    """Shell command that sets a recommended value."""
    optional: bool = False
    """Whether the setting is worth a measurement, but not an error if it is missing."""


def _debugging(name: str, why: str, vendor: Vendors = "any") -> Setting:
    return Setting(name, "variable", vendor, (UNSET, "0"), why, f"unset {name}")


SETTINGS = (
    Setting(
        "TORCHINDUCTOR_MAX_AUTOTUNE",
        "variable",
        "any",
        (UNSET, "0"),
        "Some container images set it: each torch.compile then tunes for minutes. Set it only if you need that.",
        "unset TORCHINDUCTOR_MAX_AUTOTUNE",
    ),
    Setting(
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
        "variable",
        "any",
        (UNSET, "0"),
        "The same for matrix products alone.",
        "unset TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
    ),
    _debugging("HIP_LAUNCH_BLOCKING", "Waits for each kernel: for debugging only.", "amd"),
    _debugging("AMD_SERIALIZE_KERNEL", "Waits for each kernel: for debugging only.", "amd"),
    _debugging("CUDA_LAUNCH_BLOCKING", "Waits for each kernel: for debugging only."),
    _debugging("PYTORCH_NO_CUDA_MEMORY_CACHING", "Each tensor is then allocated by the driver."),
    _debugging("TORCH_COMPILE_DEBUG", "Writes every graph to disk while compiling."),
    _debugging("TRITON_INTERPRET", "Runs Triton kernels in Python, thousands of times slower."),
    Setting(
        "AMD_LOG_LEVEL",
        "variable",
        "amd",
        (UNSET, "0"),
        "HIP's log costs time at every call.",
        "unset AMD_LOG_LEVEL",
    ),
    Setting(
        "HIP_FORCE_DEV_KERNARG",
        "variable",
        "amd",
        (UNSET, "1"),
        "Kernel arguments should be in device memory. That is the default of current ROCm: nothing to set.",
        "unset HIP_FORCE_DEV_KERNARG",
    ),
    Setting(
        "TORCH_BLAS_PREFER_HIPBLASLT",
        "variable",
        "amd",
        (UNSET, "1"),
        "hipBLASLt is PyTorch's default on gfx90a, gfx942 and gfx950 already: nothing to set.",
        "unset TORCH_BLAS_PREFER_HIPBLASLT",
    ),
    Setting(
        "GPU_MAX_HW_QUEUES",
        "variable",
        "amd",
        (UNSET, "4"),
        "The default is 4. ROCm advises 2 for some trainings over several hosts only.",
        "unset GPU_MAX_HW_QUEUES",
        optional=True,
    ),
    Setting(
        "HSA_NO_SCRATCH_RECLAIM",
        "variable",
        "amd",
        ("1",),
        "Keeps scratch memory between kernels that spill, instead of allocating it again.",
        "export HSA_NO_SCRATCH_RECLAIM=1",
        optional=True,
    ),
    Setting(
        "PYTORCH_TUNABLEOP_ENABLED",
        "variable",
        "amd",
        ("1",),
        "Picks the fastest of the BLAS libraries' kernels for each matrix product. Tune in one run, and measure in "
        "the next with PYTORCH_TUNABLEOP_TUNING=0.",
        "export PYTORCH_TUNABLEOP_ENABLED=1",
        optional=True,
    ),
    Setting(
        "proc/sys/kernel/numa_balancing",
        "file",
        "amd",
        ("0",),
        "Moving pages between NUMA nodes interrupts the GPU's accesses to host memory.",
        "sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'",
    ),
    Setting(
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "file",
        "any",
        ("performance",),
        "A processor in power-saving mode launches kernels late, and its own timings vary.",
        "sudo cpupower frequency-set --governor performance",
        optional=True,
    ),
)
