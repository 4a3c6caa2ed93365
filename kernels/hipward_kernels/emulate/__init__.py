"""Executes AMD machine code on the CPU, with the emulator of this repository (`kernels/emulator`).

`run` executes one kernel of a listing, `launch` a Triton kernel. `triton_on` and `hip_on` execute every Triton or HIP
kernel of this package that is launched on CPU tensors, so that ops run with their gradients on the machine code of an
AMD GPU.

The emulator reports accesses out of bounds, races and the like, and counts instructions and memory transactions. It
does not measure time.

Importing this package imports none of its parts: `compare` needs neither PyTorch nor Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipward_kernels.emulate.hip import hip_on
    from hipward_kernels.emulate.program import EmulationError, Finding, Report, run
    from hipward_kernels.emulate.triton import launch, triton_on

__all__ = ["EmulationError", "Finding", "Report", "hip_on", "launch", "run", "triton_on"]

_MODULES = {"hip_on": "hip", "launch": "triton", "triton_on": "triton"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, "program")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
