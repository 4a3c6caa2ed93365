"""AMD machine code of a kernel: registers, LDS, spills, occupancy, load widths, and the assembly.

Triton and HIP sources are compiled for any gfx target on any host: no AMD GPU and no ROCm are needed. Compiled code is
not run. A Triton source is Python and is imported for compilation, so an untrusted one needs a separate process, such
as `worker`. `python -m hipward_kernels.compile FILE` is the command line.

* `request`: the request. `signature`: types of a Triton kernel's arguments.
* `from_triton`, `from_hip`: the compilers. `clang`: finds clang; `headers`: precompiles HIP's headers.
* `listing`: parses assembly. `occupancy`: the wavefronts that fit on a compute unit.
* `failure`: error messages. `package_kernels`: compiles the kernels of this package.
"""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hipward_kernels.compile.failure import CompileError
from hipward_kernels.compile.request import Request

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CompileError", "Request", "compile_source"]


def compile_source(request: Request, directory: Path) -> dict[str, Any]:
    """Compiles a source for each of its targets and returns the answer as `worker` writes it.

    A target that fails has an `error` instead of kernels, and does not affect the others.

    Args:
        request: What to compile.
        directory: Directory for temporary files.

    Raises:
        CompileError: No target can be compiled: the source cannot be read, or a compiler is missing.
    """
    started = perf_counter()
    # Compilers are imported on demand, because a host may have only one of them.
    if request.language == "triton":
        from hipward_kernels.compile import from_triton  # noqa: PLC0415

        answer = from_triton.compile_source(request, directory)
    else:
        from hipward_kernels.compile import from_hip  # noqa: PLC0415

        answer = from_hip.compile_source(request, directory)
    return {"type": "compiled", **asdict(answer), "seconds": perf_counter() - started}
