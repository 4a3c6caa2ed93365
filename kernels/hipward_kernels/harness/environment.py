"""The conditions of a measurement, gathered before anything is measured."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING

import torch

from hipward_kernels.environment.audit import audit
from hipward_kernels.environment.gpu_utils import detect_gpu_vendor
from hipward_kernels.environment.sensors import UnreadableError, sensors_of
from hipward_kernels.gpu.devices import describe, driver_version
from hipward_kernels.harness.lines import Advice, Environment, Idle
from hipward_kernels.harness.timing import DeviceClock, HostClock, overhead_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock

_CHANGES_RESULTS = re.compile(
    r"(OMP|MKL|KMP|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|CUDA|HIP|HSA|ROCR|GPU|AMD|MIOPEN|ROCBLAS|HIPBLASLT|"
    r"NCCL|RCCL|USE|GEMM|PRESHUFFLE|FORCE|AITER)_|HIPWARD_DISABLE$"
)
# Set for isolation by the process that starts the harness; they name places and do not affect results.
_PLACES = re.compile(r"_(DIR|PATH|HOME|CACHE)$|^TORCHINDUCTOR_COMPILE_THREADS$")


def environment(device: torch.device, clock: Clock, rule: StopRule) -> Environment:
    """The conditions of the measurements of this process."""
    here = describe(device)
    # Read first, because measuring the clock's overhead wakes the device.
    rest = idle(device)
    vendor = detect_gpu_vendor() if device.type != "cpu" else "none"
    return Environment(
        device_name=here.name,
        arch=here.arch,
        torch=torch.__version__,
        triton=triton_version(),
        hip=torch.version.hip,
        cuda=torch.version.cuda,
        driver=driver_version(device),
        python=platform.python_version(),
        threads=torch.get_num_threads(),
        clock=clock.name,
        clock_overhead_ms=overhead_ms(clock),
        cache=clock.cache,
        stop_rule=rule.in_words(),
        variables=result_variables(os.environ),
        throttle=clock.watch.in_words if isinstance(clock, (HostClock, DeviceClock)) else "not watched by this clock",
        idle=rest,
        audit=[Advice(f.name, f.found, f.why, f.command) for f in audit(vendor) if f.state == "change"],
    )


def idle(device: torch.device) -> Idle:
    """The current readings of the device's sensors."""
    try:
        sensors = sensors_of(device)
    except UnreadableError as error:
        return Idle(None, str(error))
    reading, others = sensors.read(), sensors.other_processes()
    return Idle(
        source=sensors.source,
        unreadable=None,
        sm_mhz=reading.sm_mhz,
        max_sm_mhz=sensors.max_sm_mhz(),
        memory_mhz=reading.memory_mhz,
        temperature_c=reading.temperature_c,
        power_w=reading.power_w,
        busy_percent=reading.busy_percent,
        other_processes=None if others is None else len(others),
        partition=sensors.partition(),
    )


def result_variables(variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """Environment variables that change results, sorted."""
    return sorted(
        (name, value) for name, value in variables.items() if _CHANGES_RESULTS.match(name) and not _PLACES.search(name)
    )


def triton_version() -> str | None:
    """The version of Triton, without importing it; None if it is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    # ROCm wheels of PyTorch use other distribution names for Triton.
    for distribution in ("triton", "pytorch-triton-rocm", "pytorch-triton", "triton-rocm"):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"
