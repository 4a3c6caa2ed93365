"""Compiles HIP C++ to AMD machine code with clang, without ROCm.

Headers and device library are those of Triton's package. clang must support the target: clang 22 supports all CDNA GPUs
and gfx1250, clang 19 none after gfx942.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from hipward_kernels.compile import device_constants, headers
from hipward_kernels.compile.answer import Answer, Target, target
from hipward_kernels.compile.clang import SECONDS, Clang, clangs, device_library
from hipward_kernels.compile.failure import CompileError, Failure, shortened

if TYPE_CHECKING:
    from pathlib import Path

    from hipward_kernels.compile.request import Request

SOURCE = "kernel.hip"

FIRST_OF_CODE = "pre-isel-intrinsic-lowering"
"""The first pass of LLVM's code generation; its input is the output of the optimizer."""

_INSTALL = "Install clang 22 or later, such as Debian's package clang-22, or ROCm's own clang."


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
    # The compilers are subprocesses, so threads suffice to run them in parallel.
    with ThreadPoolExecutor(len(request.archs)) as pool:
        one = partial(_target, compilers, library, request, directory)
        targets = list(pool.map(one, request.archs))
    used = next((clang for arch in request.archs if (clang := _fitting(compilers, arch))), compilers[0])
    return Answer("hip", f"clang {used.version}", targets)


def _fitting(compilers: tuple[Clang, ...], arch: str) -> Clang | None:
    """The newest clang that supports a target."""
    return next((clang for clang in compilers if arch in clang.archs), None)


def _target(compilers: tuple[Clang, ...], library: Path, request: Request, directory: Path, arch: str) -> Target:
    clang = _fitting(compilers, arch)
    if clang is None:
        return Target(arch, 0.0, error=_unknown(arch, compilers[0]))
    started = perf_counter()
    try:
        texts = _compile(clang, arch, library, request, directory)
    except CompileError as error:
        return Target(arch, perf_counter() - started, error=error.failure)
    return _with_readable_names(target(arch, perf_counter() - started, texts, SOURCE))


def _unknown(arch: str, newest: Clang) -> Failure:
    return Failure("unknown-arch", f"clang {newest.version} does not support {arch}.", _INSTALL)


def _compile(clang: Clang, arch: str, library: Path, request: Request, directory: Path) -> dict[str, str]:
    """LLVM IR and assembly, from one run of the compiler, which prints the IR before code generation."""
    assembly = f"kernel-{arch}.s"
    parsed = headers.parsed(request, arch, directory)
    command = [
        *headers.options(clang, arch, library),
        *(("-Xclang", "-include-pch", "-Xclang", parsed.name) if parsed else ("-include", headers.WRAPPER)),
        f"-fdebug-prefix-map={directory}=.",
        *(f for name in ("ocml.bc", "ockl.bc") for f in _bitcode(library / "lib" / name)),
        *_bitcode(device_constants.bitcode(clang, arch, request.flags, directory)),
        *request.flags,
        *("-S", SOURCE, "-o", assembly),
    ]
    done = _run(clang, [*command, "-mllvm", f"-print-before={FIRST_OF_CODE}"], directory)
    if done.returncode and _DUMP.search(done.stderr):
        # An error of code generation is printed within the IR.
        done = _run(clang, command, directory)
    if done.returncode:
        raise _complaint(done)
    text = (directory / assembly).read_text(encoding="utf-8", errors="replace")
    printed = _DUMP.search(done.stderr)
    return {**({"llir": printed["ir"]} if printed else {}), "amdgcn": text}


def _bitcode(path: Path) -> list[str]:
    return ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path)]


_ERROR = re.compile(rf"^(?:\./)?{re.escape(SOURCE)}:(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)

_INSTANCE = re.compile(rf"^(?:\./)?{re.escape(SOURCE)}:(\d+):\d+: note: in instantiation ", re.MULTILINE)
"""The call in the source that caused an error in a header."""

_INCLUDED = re.compile(r"^(?:In file included from| +from) [^\n]*\n", re.MULTILINE)
_FOLDER = re.compile(r"^/\S*/include/(?=\S+:\d+:\d+: )", re.MULTILINE)
"""What leads to a header is longer than the error, and names folders of the host."""

_DUMP = re.compile(
    r"^\*\*\* IR Dump Before [^\n]*\n(?P<ir>.*?)(?=^(?:warning|remark|note|<unknown>|kernel\.hip:)|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""The IR that clang prints, up to its diagnostics."""


def _run(clang: Clang, arguments: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - a compiler with checked flags
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


def _complaint(done: subprocess.CompletedProcess[str]) -> CompileError:
    found = _ERROR.search(done.stderr) or _INSTANCE.search(done.stderr)
    line = int(found[1]) if found else None
    text = _FOLDER.sub("", _INCLUDED.sub("", done.stderr)).strip() or f"clang ended with {done.returncode}"
    return CompileError("source-error", shortened(text), "See the compiler's message.", line)


def _with_readable_names(compiled: Target) -> Target:
    kernels = [
        replace(kernel, resources=replace(kernel.resources, name=demangled(kernel.resources.name)))
        for kernel in compiled.kernels
    ]
    return replace(compiled, kernels=kernels)


def demangled(symbol: str) -> str:
    """`copy4(float const*)` for `_Z5copy4PKf`; the symbol itself if it is not a C++ name."""
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
