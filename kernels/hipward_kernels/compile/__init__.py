"""Shows what a kernel becomes on an AMD GPU: registers, LDS, spills, occupancy, load widths, and the assembly itself.

Triton and HIP sources are compiled for any gfx target on any host: no AMD GPU and no ROCm are needed. Nothing that was
compiled is run. A Triton source is Python and is imported to be compiled, so an untrusted one belongs into a process of
its own: `worker` is that process, `python -m hipward_kernels.compile FILE` the same by hand.

* `request`: what is asked for. `signature`: types of a Triton kernel's arguments.
* `from_triton`, `from_hip`: the two compilers. `clang`: finds those of HIP; `headers`: parses HIP's headers ahead.
* `listing`: reads assembly. `occupancy`: what fits on a compute unit.
* `failure`: what went wrong, in words. `worker`, `__main__`: the two doors.
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
    """Compiles a source for each of its targets; the answer as `worker` writes it.

    A target that fails has an `error` in place of its kernels, so that the others are still seen.

    Args:
        request: What to compile.
        directory: Where files may be written.

    Raises:
        CompileError: Nothing could be compiled at all: the source cannot be read, or a compiler is missing.
    """
    started = perf_counter()
    # Each compiler is imported when it is asked for: a host may have one and not the other.
    if request.language == "triton":
        from hipward_kernels.compile import from_triton  # noqa: PLC0415

        answer = from_triton.compile_source(request, directory)
    else:
        from hipward_kernels.compile import from_hip  # noqa: PLC0415

        answer = from_hip.compile_source(request, directory)
    return {"type": "compiled", **asdict(answer), "seconds": perf_counter() - started}
