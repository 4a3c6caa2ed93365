"""Constants that specialize AMD's device library, which ROCm links as small bitcode files.

Triton's package has the library without these files. Undefined constants would be loads and branches in the machine
code that ROCm's compiler does not generate: `blockDim.x` alone would be read in two ways, for two versions of the
launch ABI.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.compile.clang import SECONDS
from hipward_kernels.compile.failure import CompileError
from hipward_kernels.gpu.facts import wavefront_of

if TYPE_CHECKING:
    from hipward_kernels.compile.clang import Clang

ABI_VERSION = 500
"""Version of the launch ABI times 100: the library does not distinguish code object versions after 4."""


def values(arch: str, *, fast: bool) -> dict[str, tuple[str, int]]:
    """Type and value of each constant. `fast` is `-ffast-math`, which ROCm's driver reflects in the constants."""
    # gfx90a is version 9.0.10: minor version and stepping are one hexadecimal digit each.
    major = int(arch[3:-2])
    isa = major * 1000 + int(arch[-2], 16) * 100 + int(arch[-1], 16)
    wide = wavefront_of(arch) == 64
    return {
        "__oclc_ABI_version": ("i32", ABI_VERSION),
        "__oclc_ISA_version": ("i32", isa),
        "__oclc_wavefrontsize64": ("i8", int(wide)),
        "__oclc_wavefrontsize_log2": ("i32", 6 if wide else 5),
        "__oclc_finite_only_opt": ("i8", int(fast)),
        "__oclc_unsafe_math_opt": ("i8", int(fast)),
        "__oclc_correctly_rounded_sqrt32": ("i8", 1),
    }


def bitcode(clang: Clang, arch: str, flags: tuple[str, ...], directory: Path) -> Path:
    """A bitcode file in `directory` with the constants, for `-mlink-builtin-bitcode`; created if it is missing.

    Raises:
        CompileError: clang does not compile the constants.
    """
    fast = "-ffast-math" in flags
    path = directory / f"constants-{arch}{'-fast' if fast else ''}.bc"
    if path.exists():
        return path
    text = "".join(
        f"@{name} = linkonce_odr hidden local_unnamed_addr addrspace(4) constant {kind} {value}\n"
        for name, (kind, value) in values(arch, fast=fast).items()
    )
    handle, part = tempfile.mkstemp(dir=directory, suffix=".part")
    os.close(handle)
    command = [clang.path, "-x", "ir", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-emit-llvm", "-c", "-", "-o", part]
    try:
        subprocess.run(  # noqa: S603 - a compiler that was looked up
            command, input=text, text=True, cwd=directory, capture_output=True, timeout=SECONDS, check=True
        )
    except subprocess.SubprocessError as error:
        raise CompileError(
            "internal",
            f"clang {clang.version} does not compile the device library's constants: {error}",
            "Report this.",
        ) from error
    # Renamed when it is complete.
    Path(part).rename(path)
    return path
