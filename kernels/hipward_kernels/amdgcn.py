"""Compiles kernels to AMD machine code on any host, and reads what the code uses.

No AMD GPU and no ROCm are needed: Triton brings its compiler, and HIP sources, which include no header but ours, need
only a clang that knows the architecture. Nothing is run here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as triton_compile

from hipward_kernels.arch import WAVE_AMD
from hipward_kernels.jit.toolchain import BuildError, options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WAVEFRONT = WAVE_AMD
"""Threads of a wavefront on every CDNA GPU."""

CLANGS = ("clang-22", "clang-23", "clang-24", "/opt/rocm/llvm/bin/clang", "clang")
"""Where a clang may be that knows gfx950; the first that does is taken."""

LOADS_16 = r"(global|buffer|flat)_load_dwordx4"
LOADS_NARROWER = r"(global|buffer|flat)_load_(dwordx[23]|dword|[us]short\w*|[us]byte\w*|short_d16\w*)"
STORES_16 = r"(global|buffer|flat)_store_dwordx4"


@dataclass(frozen=True)
class MachineCode:
    """A compiled kernel."""

    text: str
    """The assembly."""
    vgprs: int
    """Vector registers of a thread, accumulation registers included."""
    spills: int
    """Registers, vector and scalar, that did not fit and go to memory."""
    occupancy: int
    """Wavefronts that fit on a SIMD at once."""
    lds_bytes: int
    """Shared memory of a workgroup."""

    def count(self, pattern: str) -> int:
        """Instructions whose name matches the regular expression `pattern` as a whole."""
        return len(re.findall(rf"^\s*(?:{pattern})\s", self.text, re.MULTILINE))


def compile_for(
    arch: str, kernel: Any, signature: Mapping[str, str], constants: Mapping[str, Any], num_warps: int
) -> MachineCode:
    """Compiles a Triton kernel for `arch`, such as `gfx942`, as a launch with well-shaped arguments would.

    Args:
        arch: The GPU.
        kernel: A function under `triton.jit`.
        signature: Type of each argument that is no constant: `*bf16`, `i32`, `fp32`.
        constants: Value of each `tl.constexpr` argument.
        num_warps: Wavefronts of a workgroup.
    """
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    names = list(kernel.arg_names)
    # Triton finds these divisibilities at a launch. Without them no load is 16 bytes wide.
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name, kind in signature.items() if kind != "fp32"}
    compile_options = {"num_warps": num_warps, "enable_fp_fusion": True}
    source = ASTSource(kernel, {name: types[name] for name in names}, dict(constants), attributes)
    compiled = triton_compile(source, target=GPUTarget("hip", arch, WAVEFRONT), options=compile_options)
    text: str = compiled.asm["amdgcn"]
    return MachineCode(
        text=text,
        vgprs=_number(r"\.vgpr_count:\s*(\d+)", text),
        spills=_number(r"\.vgpr_spill_count:\s*(\d+)", text) + _number(r"\.sgpr_spill_count:\s*(\d+)", text),
        occupancy=_number(r"; Occupancy:\s*(\d+)", text),
        lds_bytes=compiled.metadata.shared,
    )


def compile_hip(arch: str, file: Path, entry: str, macros: Mapping[str, object]) -> MachineCode:
    """Compiles one kernel of a HIP source for `arch`, with clang.

    Args:
        arch: The GPU.
        file: The source.
        entry: The kernel's name.
        macros: What the source wants set, without `HIPWARD_`.

    Raises:
        BuildError: There is no clang for `arch`, or the source does not compile.
    """
    texts = {f"HIPWARD_{name}": str(value) for name, value in {"WAVE": WAVEFRONT, **macros}.items()}
    command = [clang(arch), "-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", *options(arch, texts)]
    done = subprocess.run([*command, "-S", str(file), "-o", "-"], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BuildError(f"{file.name} does not compile for {arch}:\n{done.stderr}")
    text = done.stdout
    code = re.search(rf"^{entry}:.*?^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    described = re.search(rf"^{entry}:.*?; Occupancy: (\d+)", text, re.MULTILINE | re.DOTALL)
    metadata = next(
        (part for part in text.split("  - .agpr_count:")[1:] if f".name:           {entry}\n" in part), None
    )
    if code is None or described is None or metadata is None:
        raise BuildError(f"{file.name} has no kernel {entry}")
    return MachineCode(
        text=code.group(0),
        vgprs=_number(r"\.vgpr_count:\s*(\d+)", metadata),
        spills=_number(r"\.vgpr_spill_count:\s*(\d+)", metadata) + _number(r"\.sgpr_spill_count:\s*(\d+)", metadata),
        occupancy=int(described.group(1)),
        lds_bytes=_number(r"\.group_segment_fixed_size:\s*(\d+)", metadata),
    )


@lru_cache(maxsize=8)
def clang(arch: str) -> str:
    """A clang that compiles for `arch`.

    Raises:
        BuildError: There is none.
    """
    for name in CLANGS:
        program = shutil.which(name)
        if program is None:
            continue
        known = [
            program,
            "--target=amdgcn-amd-amdhsa",
            f"-mcpu={arch}",
            "-nogpulib",
            "-x",
            "c",
            "-S",
            "/dev/null",
            "-o-",
        ]
        if subprocess.run(known, capture_output=True, check=False).returncode == 0:  # noqa: S603
            return program
    raise BuildError(f"none of {', '.join(CLANGS)} is a clang that compiles for {arch}; Debian's package is clang-22")


@lru_cache(maxsize=1)
def clang_version() -> str:
    """Name and version of the clang that compiles for the newest GPU."""
    done = subprocess.run([clang("gfx950"), "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    return f"clang {_version(done.stdout)}"


def _version(text: str) -> str:
    found = re.search(r"version (\S+)", text)
    return found.group(1) if found else "of unknown version"


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"the compiler's output has no {pattern}")
    return int(found.group(1))
