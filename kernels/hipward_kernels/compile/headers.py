"""Precompiled HIP headers: clang spends 90 % of a small kernel's compile time on them.

A worker precompiles them for the default targets into its own directory while it waits for its request. A source that
arrives earlier, or that could change the meaning of the headers, is compiled with the headers as text.
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
    from collections.abc import Sequence
    from pathlib import Path

    from hipward_kernels.compile.request import Request

WRAPPER = "__clang_hip_runtime_wrapper.h"
"""Header that clang needs before a HIP source, if the include path is set explicitly."""

_BEGINS_WITH_THEM = re.compile(r"[^#]*#\s*include\s*<hip/hip_runtime\.h>")
"""Matches sources that begin with the header, so that no earlier code can change its meaning."""


def options(clang: Clang, arch: str, library: Path) -> list[str]:
    """Options for both the headers and a source."""
    return [
        *("-x", "hip", "--cuda-device-only", f"--offload-arch={arch}", "-nogpulib", "-nogpuinc"),
        *("-isystem", str(clang.resources / "include" / "cuda_wrappers"), "-isystem", str(library / "include")),
        *(f"-I{clang.resources}", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-O3"),
        *("-gline-tables-only", "-fno-color-diagnostics"),
        # Without this, an identifier of the file is random, and the same source gives different code.
        "-fuse-cuid=none",
    ]


def parsed(request: Request, arch: str, directory: Path) -> Path | None:
    """The precompiled headers of a target, if they exist and are valid for this request."""
    path = directory / f"headers-{arch}.pch"
    usable = not request.flags and _BEGINS_WITH_THEM.match(request.source) and path.exists()
    return path if usable else None


def parse_ahead(directory: Path) -> Thread:
    """Starts to precompile the headers into `directory`, in the background."""
    thread = Thread(target=parse, args=[directory, ARCHS], daemon=True)
    thread.start()
    return thread


def parse(directory: Path, archs: Sequence[str]) -> None:
    """Precompiles the headers for `archs` into `directory`."""
    # Errors are reported when a source is compiled.
    with contextlib.suppress(CompileError, OSError, subprocess.SubprocessError):
        library = device_library()
        (directory / "headers.h").write_text(f"#include <{WRAPPER}>\n#include <hip/hip_runtime.h>\n", encoding="utf-8")
        for arch in archs:
            clang = next((clang for clang in clangs() if arch in clang.archs), None)
            if clang is not None:
                device_constants.bitcode(clang, arch, (), directory)
                _parse(clang, arch, library, directory)


def _parse(clang: Clang, arch: str, library: Path, directory: Path) -> None:
    made = directory / f"headers-{arch}.part"
    # Templates that the headers use are instantiated here. Otherwise, each source that includes them would do it again,
    # which takes longer than everything else.
    ahead = ("-Xclang", "-emit-pch", "-fpch-instantiate-templates")
    command = [clang.path, *options(clang, arch, library), *ahead, "-S", "-emit-llvm", "headers.h"]
    done = subprocess.run(  # noqa: S603 - a compiler that was looked up
        [*command, "-o", made.name], cwd=directory, capture_output=True, timeout=SECONDS, check=False
    )
    if done.returncode == 0:
        # Renamed when it is complete.
        made.rename(directory / f"headers-{arch}.pch")
