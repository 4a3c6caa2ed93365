"""Tells a tier that does not work here from a mistake of the caller and from a device that is broken or full.

Only the first may be answered with another tier. Where the device's memory is full, another tier would not have more,
and after an error that leaves the device unusable nothing would work. Whatever is not known here is somebody's mistake,
and is raised.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from hipward_kernels.jit.driver import LaunchError
from hipward_kernels.jit.grid import GridError
from hipward_kernels.jit.libraries import BuildError

NOT_THE_TIERS = frozenset({2, 4, 214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999})
"""Codes of CUDA's and HIP's drivers, which agree in these: out of memory (2), being shut down (4), broken memory (214),
unknown (999), and errors of kernels that ran before, such as an illegal address (700) or a failed assertion (710)."""

NOT_HERE = (OSError, ImportError, subprocess.SubprocessError)
"""A library, a package or a compiler that is not here, or does not start."""

_DEVICE_IN_WORDS = re.compile(
    r"out of memory|illegal (memory access|address|instruction)|misaligned address"
    r"|invalid (address space|program counter)|launch fail|launch timed out|device-side assert|hardware stack"
    r"|uncorrectable|unknown error|shutting down",
    re.IGNORECASE,
)
"""The same in the messages that Triton passes on."""


@dataclass(frozen=True)
class Failure:
    """Why a tier did not run an op."""

    reason: str
    always: bool
    """Whether it would fail with other shapes, too."""


def failure(error: Exception) -> Failure | None:
    """What `error`, raised by a tier, says of the tier; None where another tier is no answer to it."""
    if isinstance(error, GridError):
        return Failure(str(error), always=False)
    if isinstance(error, LaunchError):
        return None if error.code in NOT_THE_TIERS else Failure(str(error), always=True)
    if isinstance(error, BuildError):
        return Failure(str(error), always=True)
    named = f"{type(error).__name__}: {error}"
    if isinstance(error, NOT_HERE):
        return Failure(named, always=True)
    if not _is_tritons(error) or (isinstance(error, RuntimeError) and _DEVICE_IN_WORDS.search(str(error))):
        return None
    return Failure(named, always=type(error).__name__ != "OutOfResources")


def _is_tritons(error: Exception) -> bool:
    """Whether Triton or a part of it raised the error: it compiles when it is first called."""
    if any(kind.__name__ == "TritonError" for kind in type(error).__mro__) or str(error).startswith("Triton Error"):
        return True
    # MLIR's passes, LLVM and the search for a driver raise RuntimeError and AssertionError.
    if not isinstance(error, RuntimeError | AssertionError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "triton"
