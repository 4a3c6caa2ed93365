"""Distinguishes failures of a tier from errors of the caller and of the device.

Only after a failure of the tier itself is another tier tried. If the device is out of memory, another tier would not
have more, and after an error that leaves the device unusable, no tier works. An unknown error is raised.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from hipward_kernels.jit.driver import LaunchError
from hipward_kernels.jit.grid import GridError
from hipward_kernels.jit.libraries import BuildError

DEVICE_ERRORS = frozenset({2, 4, 214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999})
"""Error codes of the CUDA and HIP drivers, which use the same numbers: out of memory (2), shutting down (4),
uncorrectable memory error (214), unknown (999), and errors of earlier kernels, such as an illegal address (700) or a
failed assertion (710)."""

MISSING_ERRORS = (OSError, ImportError, subprocess.SubprocessError)
"""Errors of a library, package or compiler that is missing or does not start."""

_DEVICE_ERROR_TEXT = re.compile(
    r"out of memory|illegal (memory access|address|instruction)|misaligned address"
    r"|invalid (address space|program counter)|launch fail|launch timed out|device-side assert|hardware stack"
    r"|uncorrectable|unknown error|shutting down",
    re.IGNORECASE,
)
"""The same errors in messages that Triton passes on."""


@dataclass(frozen=True)
class Failure:
    """Why a tier did not run an op."""

    reason: str
    always: bool
    """Whether it would also fail with other shapes."""


def failure(error: Exception) -> Failure | None:
    """The failure of a tier that raised `error`, or None if another tier must not be tried."""
    if isinstance(error, GridError):
        return Failure(str(error), always=False)
    if isinstance(error, LaunchError):
        return None if error.code in DEVICE_ERRORS else Failure(str(error), always=True)
    if isinstance(error, BuildError):
        return Failure(str(error), always=True)
    named = f"{type(error).__name__}: {error}"
    if isinstance(error, MISSING_ERRORS):
        return Failure(named, always=True)
    if not _is_tritons(error) or (isinstance(error, RuntimeError) and _DEVICE_ERROR_TEXT.search(str(error))):
        return None
    return Failure(named, always=type(error).__name__ != "OutOfResources")


def _is_tritons(error: Exception) -> bool:
    """Whether Triton raised the error. Triton compiles a kernel at its first call."""
    if any(kind.__name__ == "TritonError" for kind in type(error).__mro__) or str(error).startswith("Triton Error"):
        return True
    # MLIR passes, LLVM and the search for a driver raise RuntimeError and AssertionError.
    if not isinstance(error, RuntimeError | AssertionError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "triton"
