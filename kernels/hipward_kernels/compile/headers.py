"""HIP's headers, parsed ahead: clang spends nine tenths of a small kernel's time on them.

A worker parses them for the usual targets while it waits for its request, into its own folder. A source that comes
sooner, or whose meaning could be another with them, is compiled with the headers as text.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from threading import Thread
from typing import TYPE_CHECKING

from hipward_kernels.compile import device_constants
from hipward_kernels.compile.clang import SECONDS, Clang, clangs, device_library
from hipward_kernels.compile.failure import CompileError
from hipward_kernels.compile.request import ARCHS

if TYPE_CHECKING:
    from pathlib import Path

    from hipward_kernels.compile.request import Request

WRAPPER = "__clang_hip_runtime_wrapper.h"
"""What clang needs before any HIP source, when it is told where headers are."""

_BEGINS_WITH_THEM = re.compile(r"[^#]*#\s*include\s*<hip/hip_runtime\.h>")
"""Nothing that could change what the headers say comes before them."""


def options(clang: Clang, arch: str, library: Path) -> list[str]:
    """What both the headers and a source are compiled with."""
    return [
        *("-x", "hip", "--cuda-device-only", f"--offload-arch={arch}", "-nogpulib", "-nogpuinc"),
        *("-isystem", str(clang.resources / "include" / "cuda_wrappers"), "-isystem", str(library / "include")),
        *(f"-I{clang.resources}", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-O3"),
        *("-gline-tables-only", "-fno-color-diagnostics"),
        # An identifier of the file, otherwise, drawn anew each time: the same source is to give the same code.
        "-fuse-cuid=none",
    ]


def parsed(request: Request, arch: str, directory: Path) -> Path | None:
    """The parsed headers of a target, if they are there and mean the same for this request."""
    path = directory / f"headers-{arch}.pch"
    usable = not request.flags and _BEGINS_WITH_THEM.match(request.source) and path.exists()
    return path if usable else None


def parse_ahead(directory: Path) -> Thread:
    """Begins to parse them into `directory`; returns at once."""
    thread = Thread(target=_parse_all, args=[directory], daemon=True)
    thread.start()
    return thread


def _parse_all(directory: Path) -> None:
    # Whatever is missing or fails here is said when a source is compiled.
    with contextlib.suppress(CompileError, OSError, subprocess.SubprocessError):
        library = device_library()
        (directory / "headers.h").write_text(f"#include <{WRAPPER}>\n#include <hip/hip_runtime.h>\n", encoding="utf-8")
        for arch in ARCHS:
            clang = next((clang for clang in clangs() if arch in clang.archs), None)
            if clang is not None:
                device_constants.bitcode(clang, arch, (), directory)
                _parse(clang, arch, library, directory)


def _parse(clang: Clang, arch: str, library: Path, directory: Path) -> None:
    made = directory / f"headers-{arch}.part"
    # Templates that the headers use are instantiated here: else each source that includes them does it again, which
    # takes longer than all the rest.
    ahead = ("-Xclang", "-emit-pch", "-fpch-instantiate-templates")
    command = [clang.path, *options(clang, arch, library), *ahead, "-S", "-emit-llvm", "headers.h"]
    done = subprocess.run(  # noqa: S603 - a compiler that was looked up
        [*command, "-o", made.name], cwd=directory, capture_output=True, timeout=SECONDS, check=False
    )
    if done.returncode == 0:
        # There, or not there: never half of it.
        made.rename(directory / f"headers-{arch}.pch")
