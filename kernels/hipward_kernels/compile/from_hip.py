"""HIP C++ to AMD machine code with clang alone, without ROCm.

The headers and the device library are those that Triton brings. clang must know the target: clang 22 knows all CDNA
GPUs, clang 19 none after gfx942.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from hipward_kernels.compile.answer import Answer, Target, target
from hipward_kernels.compile.failure import CompileError, Failure, shortened

if TYPE_CHECKING:
    from hipward_kernels.compile.request import Request

SOURCE = "kernel.hip"
SECONDS = 60

VERSIONS = range(30, 16, -1)
"""Major versions of clang that are looked for, newest first: clang 17 is the first that builds these headers."""

_INSTALL = "Install clang 22 or later, such as Debian's package clang-22, or ROCm's own clang."


@dataclass(frozen=True)
class Clang:
    """A clang that can generate AMD code."""

    path: str
    version: str
    resources: Path
    archs: frozenset[str]


def compile_source(request: Request, directory: Path) -> Answer:
    """Compiles a HIP source for each target.

    Raises:
        CompileError: There is no clang, or no headers.
    """
    compilers = clangs()
    if not compilers:
        raise CompileError("no-compiler", "There is no clang with an AMD GPU target on this host.", _INSTALL)
    library = device_library()
    (directory / SOURCE).write_text(request.source, encoding="utf-8", newline="\n")
    targets = []
    used = compilers[0]
    for arch in request.archs:
        fitting = next((clang for clang in compilers if arch in clang.archs), None)
        if fitting is None:
            targets.append(Target(arch, 0.0, error=_unknown(arch, compilers[0])))
            continue
        used = fitting
        started = perf_counter()
        try:
            texts = _compile(fitting, arch, library, request.flags, directory)
        except CompileError as error:
            targets.append(Target(arch, perf_counter() - started, error=error.failure))
        else:
            targets.append(_with_readable_names(target(arch, perf_counter() - started, texts, SOURCE)))
    return Answer("hip", f"clang {used.version}", targets)


def _unknown(arch: str, newest: Clang) -> Failure:
    return Failure("unknown-arch", f"clang {newest.version} does not know {arch}.", _INSTALL)


def _compile(clang: Clang, arch: str, library: Path, flags: tuple[str, ...], directory: Path) -> dict[str, str]:
    """LLVM IR and assembly. Optimized once: the second step only generates code from what the first printed."""
    include, bitcode = library / "include", library / "lib"
    front = [
        *("-x", "hip", "--cuda-device-only", f"--offload-arch={arch}", "-nogpulib", "-nogpuinc"),
        *("-isystem", str(clang.resources / "include" / "cuda_wrappers"), "-include", "__clang_hip_runtime_wrapper.h"),
        *("-isystem", str(include), f"-I{clang.resources}", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-O3"),
        *("-gline-tables-only", f"-fdebug-prefix-map={directory}=.", "-fno-color-diagnostics"),
        *(f for name in ("ocml.bc", "ockl.bc") for f in _bitcode(bitcode / name)),
        *flags,
        *("-S", "-emit-llvm", SOURCE, "-o", "kernel.ll"),
    ]
    _run(clang, front, directory)
    back = ["-x", "ir", "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-O3"]
    _run(clang, [*back, "-Xclang", "-disable-llvm-passes", "-S", "kernel.ll", "-o", "kernel.s"], directory)
    texts = {"llir": directory / "kernel.ll", "amdgcn": directory / "kernel.s"}
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in texts.items()}


def _bitcode(path: Path) -> list[str]:
    return ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path)]


_ERROR = re.compile(rf"^(?:\./)?{re.escape(SOURCE)}:(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)


def _run(clang: Clang, arguments: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a compiler with checked flags
            [clang.path, *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileError(
            "source-error",
            f"clang took longer than {SECONDS} s.",
            "Make the source simpler: less unrolling, fewer templates.",
        ) from error
    if done.returncode == 0:
        return
    found = _ERROR.search(done.stderr)
    line = int(found[1]) if found else None
    text = done.stderr.strip() or f"clang ended with {done.returncode}"
    raise CompileError("source-error", shortened(text), "The compiler's message says what it does not accept.", line)


def _with_readable_names(compiled: Target) -> Target:
    kernels = [
        replace(kernel, resources=replace(kernel.resources, name=demangled(kernel.resources.name)))
        for kernel in compiled.kernels
    ]
    return replace(compiled, kernels=kernels)


def demangled(symbol: str) -> str:
    """`copy4(float const*)` for `_Z5copy4PKf`; the symbol itself where it is no C++ name."""
    if not symbol.startswith("_Z"):
        return symbol
    try:
        demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    except OSError:
        return symbol
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    address = demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not address or status.value != 0:
        return symbol
    name = ctypes.string_at(address).decode(errors="replace")
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(address)
    return name


def device_library() -> Path:
    """Where Triton keeps HIP's headers and device library.

    Raises:
        CompileError: There is no Triton.
    """
    # Found without importing it.
    found = importlib.util.find_spec("triton")
    places = (found.submodule_search_locations or []) if found else []
    for place in places:
        library = Path(place) / "backends" / "amd"
        if (library / "include" / "hip" / "hip_runtime.h").exists():
            return library
    raise CompileError(
        "no-compiler",
        "HIP's headers are missing: they are taken from Triton's AMD backend, which is not installed.",
        "python -m pip install triton",
    )


@lru_cache(maxsize=1)
def clangs() -> tuple[Clang, ...]:
    """Every clang on this host that generates AMD code, newest first. `HIPWARD_CLANG` names the only one to use."""
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
