"""Finds clang compilers with an AMD target on this host, and the headers and device library in Triton's package."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hipward_kernels.compile.failure import CompileError

SECONDS = 60
"""Timeout of a compiler, in seconds."""

VERSIONS = range(30, 16, -1)
"""Supported major versions of clang, newest first: clang 17 is the first that compiles these headers."""


@dataclass(frozen=True)
class Clang:
    """A clang that can generate AMD code."""

    path: str
    version: str
    resources: Path
    archs: frozenset[str]


def device_library() -> Path:
    """The directory of HIP's headers and device library in Triton's package.

    Raises:
        CompileError: Triton is not installed.
    """
    # Finds Triton without importing it.
    found = importlib.util.find_spec("triton")
    places = (found.submodule_search_locations or []) if found else []
    for place in places:
        library = Path(place) / "backends" / "amd"
        if (library / "include" / "hip" / "hip_runtime.h").exists():
            return library
    raise CompileError(
        "no-compiler",
        "HIP's headers are missing: they are part of Triton's AMD backend, which is not installed.",
        "python -m pip install triton",
    )


@lru_cache(maxsize=1)
def clangs() -> tuple[Clang, ...]:
    """Every clang on this host with an AMD target, newest first; only `HIPWARD_CLANG` if it is set."""
    if own := os.environ.get("HIPWARD_CLANG"):
        paths = [own]
    else:
        rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "llvm" / "bin" / "clang++"
        names = [*(f"clang++-{version}" for version in VERSIONS), "clang++"]
        paths = [str(rocm), *filter(None, map(shutil.which, names))]
    known = {clang.resources: clang for path in paths if (clang := _look_at(path))}
    return tuple(sorted(known.values(), key=lambda clang: int(clang.version.split(".")[0]), reverse=True))


def _look_at(path: str) -> Clang | None:
    try:
        version = re.search(r"version (\d+\.\d+\.\d+)", _ask(path, "--version"))
        archs = re.findall(r"\b(gfx\w+)", _ask(path, "--print-supported-cpus", "--target=amdgcn-amd-amdhsa"))
        resources = Path(_ask(path, "-print-resource-dir").strip())
    except (OSError, subprocess.SubprocessError):
        return None
    if version is None or not archs or int(version[1].split(".")[0]) not in VERSIONS:
        return None
    return Clang(path, version[1], resources, frozenset(archs))


def _ask(path: str, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - a compiler that was looked up
        [path, *arguments], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return done.stdout + done.stderr
