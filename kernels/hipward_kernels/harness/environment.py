"""The conditions of a measurement, gathered before anything is measured."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING

import torch

from hipward_kernels.harness.devices import describe, driver_version
from hipward_kernels.harness.lines import Environment
from hipward_kernels.harness.timing import overhead_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock

_CHANGES_RESULTS = re.compile(
    r"(OMP|MKL|KMP|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|CUDA|HIP|HSA|ROCR|GPU|AMD|MIOPEN|ROCBLAS|HIPBLASLT|"
    r"NCCL|RCCL|USE|GEMM|PRESHUFFLE|FORCE|AITER)_|HIPWARD_DISABLE$"
)
# Set by whoever starts the harness, for isolation; they say where, not how.
_PLACES = re.compile(r"_(DIR|PATH|HOME|CACHE)$|^TORCHINDUCTOR_COMPILE_THREADS$")


def environment(device: torch.device, clock: Clock, rule: StopRule) -> Environment:
    """Everything about this process that a reader of its numbers must know."""
    here = describe(device)
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
    )


def result_variables(variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """Environment variables that change results, sorted."""
    return sorted(
        (name, value) for name, value in variables.items() if _CHANGES_RESULTS.match(name) and not _PLACES.search(name)
    )


def triton_version() -> str | None:
    """Triton's version without importing it, or None where there is none."""
    if importlib.util.find_spec("triton") is None:
        return None
    # ROCm wheels of PyTorch bring Triton under another distribution name.
    for distribution in ("triton", "pytorch-triton-rocm", "pytorch-triton", "triton-rocm"):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"
