"""Executes AMD machine code on the CPU, with the emulator of this repository (`kernels/emulator`).

`run` executes one kernel of a listing. `triton_on` executes every Triton kernel of this package that is launched on CPU
tensors, so that ops run with their gradients on the machine code of an AMD GPU.

The emulator reports accesses out of bounds, races and the like, and counts instructions and memory transactions. It
does not measure time.
"""

from hipward_kernels.emulate.program import EmulationError, Finding, Report, run
from hipward_kernels.emulate.triton import launch, triton_on

__all__ = ["EmulationError", "Finding", "Report", "launch", "run", "triton_on"]
