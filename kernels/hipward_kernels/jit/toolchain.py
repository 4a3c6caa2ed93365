"""Compilers of HIP sources: NVRTC for NVIDIA, hipRTC or hipcc for AMD.

The run-time compilers are shared libraries with the same interface under two prefixes.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch

from hipward_kernels.jit.libraries import BuildError, MissingLibraryError, load

if TYPE_CHECKING:
    from collections.abc import Mapping

INCLUDE = Path(__file__).parent / "include"


class Toolchain(Protocol):
    """A compiler."""

    version: str
    """Name and version; part of the cache key."""

    def compile(self, source: str, name: str, arch: str, macros: Mapping[str, str]) -> bytes:
        """Machine code for `arch` (`gfx942`, `sm_90`).

        Raises:
            BuildError: The source does not compile.
        """


def options(arch: str, macros: Mapping[str, str]) -> list[str]:
    """Options for each compiler."""
    target = f"--offload-arch={arch}" if arch.startswith("gfx") else f"--gpu-architecture={arch}"
    optimize = ["-O3"] if arch.startswith("gfx") else []
    return [target, "-std=c++17", *optimize, f"-I{INCLUDE}", *(f"-D{name}={value}" for name, value in macros.items())]


class RuntimeCompiler:
    """NVRTC or hipRTC."""

    def __init__(self, library: ctypes.CDLL, prefix: str, code: str) -> None:
        """`prefix` is the prefix of function names; `code` names the function that returns machine code."""
        self._library, self._prefix, self._code = library, prefix, code
        major, minor = c_int(), c_int()
        self._call("Version", byref(major), byref(minor))
        self.version = f"{prefix} {major.value}.{minor.value}"

    def _call(self, name: str, *arguments: object) -> int:
        return int(getattr(self._library, self._prefix + name)(*arguments))

    def compile(self, source: str, name: str, arch: str, macros: Mapping[str, str]) -> bytes:
        """See `Toolchain`."""
        program = c_void_p()
        arguments = (byref(program), c_char_p(source.encode()), c_char_p(name.encode()), 0, None, None)
        if code := self._call("CreateProgram", *arguments):
            raise BuildError(f"{name}: {self._prefix}CreateProgram failed with code {code}")
        try:
            texts = [option.encode() for option in options(arch, macros)]
            failed = self._call("CompileProgram", program, len(texts), (c_char_p * len(texts))(*texts))
            if failed:
                said = self._bytes("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
                raise BuildError(f"{name} does not compile for {arch} with {self.version}:\n{said}")
            return self._bytes(self._code, program)
        finally:
            self._call("DestroyProgram", byref(program))

    def _bytes(self, what: str, program: c_void_p) -> bytes:
        size = c_size_t()
        if code := self._call(f"Get{what}Size", program, byref(size)):
            raise BuildError(f"{self._prefix}Get{what}Size failed with code {code}")
        buffer = ctypes.create_string_buffer(size.value)
        if code := self._call(f"Get{what}", program, buffer):
            raise BuildError(f"{self._prefix}Get{what} failed with code {code}")
        return buffer.raw


class Hipcc:
    """ROCm's compiler driver, used if its run-time compiler is missing."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603

    def compile(self, source: str, name: str, arch: str, macros: Mapping[str, str]) -> bytes:
        """See `Toolchain`."""
        with tempfile.TemporaryDirectory() as folder:
            file, output = Path(folder) / Path(name).name, Path(folder) / "code"
            file.write_text(source)
            command = [self._program, "--genco", *options(arch, macros), str(file), "-o", str(output)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise BuildError(f"{name} does not compile for {arch} with hipcc:\n{done.stderr}")
            return output.read_bytes()


@lru_cache(maxsize=1)
def toolchain() -> Toolchain:
    """The compiler for the GPUs that this process' PyTorch is for.

    Raises:
        BuildError: There is no compiler.
    """
    if not torch.version.hip:
        return RuntimeCompiler(load("libnvrtc", ("libcudart",)), "nvrtc", "CUBIN")
    try:
        return RuntimeCompiler(load("libhiprtc", ("libamdhip64",)), "hiprtc", "Code")
    except MissingLibraryError as error:
        if program := shutil.which("hipcc"):
            return Hipcc(program)
        raise BuildError(f"no HIP compiler: hipcc is not in PATH either; {error}") from error


__all__ = ["INCLUDE", "BuildError", "Toolchain", "options", "toolchain"]
