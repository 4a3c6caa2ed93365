"""Compiles this package's kernels to AMD machine code on any host, with the same launch parameters as on a GPU.

No AMD GPU and no ROCm are needed: Triton contains its compiler, and the HIP sources, which include only headers of this
package, need only a clang that supports the architecture.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as triton_compile

from hipward_kernels.compile.clang import Clang, clangs
from hipward_kernels.compile.listing import Resources, resources
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.jit.toolchain import BuildError, options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def compile_triton(
    arch: str, kernel: Any, signature: Mapping[str, str], constants: Mapping[str, Any], num_warps: int
) -> Resources:
    """Compiles a Triton kernel for `arch`, such as `gfx942`, as a launch with aligned arguments of at most 2 GiB would.

    Args:
        arch: The architecture.
        kernel: A function under `triton.jit`.
        signature: Type of each argument that is not a constant: `*bf16`, `i32`, `fp32`.
        constants: Value of each `tl.constexpr` argument.
        num_warps: Wavefronts of a workgroup.
    """
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    names = list(kernel.arg_names)
    # Triton determines these at launch. Without the divisibility no load is 16 bytes wide, and tensors of at most 2 GiB
    # are addressed by 32-bit offsets.
    divisible, small = ["tt.divisibility", 16], ["tt.pointer_range", 32]
    attributes = {
        (names.index(name),): [divisible, small] if kind.startswith("*") else [divisible]
        for name, kind in signature.items()
        if kind != "fp32"
    }
    compile_options = {"num_warps": num_warps, "enable_fp_fusion": True}
    source = ASTSource(kernel, {name: types[name] for name in names}, dict(constants), attributes)
    compiled = triton_compile(source, target=GPUTarget("hip", arch, wavefront_of(arch)), options=compile_options)
    (used,) = resources(compiled.asm["amdgcn"])
    # Triton allocates shared memory at launch.
    return replace(used, lds_bytes=used.lds_bytes + compiled.metadata.shared)


def compile_hip(arch: str, file: Path, entry: str, macros: Mapping[str, object]) -> Resources:
    """Compiles one kernel of a HIP source for `arch`, with clang.

    Args:
        arch: The architecture.
        file: The source.
        entry: The kernel's name.
        macros: Macros of the source, without the prefix `HIPWARD_`.

    Raises:
        BuildError: There is no clang for `arch`, or the source does not compile.
    """
    for used in resources(hip_listing(arch, file, macros)):
        if used.name == entry:
            return used
    raise BuildError(f"{file.name} has no kernel {entry}")


def hip_listing(arch: str, file: Path, macros: Mapping[str, object], *flags: str) -> str:
    """The assembly text of a HIP source for `arch`. The arguments and errors are those of `compile_hip`."""
    texts = {f"HIPWARD_{name}": str(value) for name, value in {"WAVE": wavefront_of(arch), **macros}.items()}
    command = [clang(arch).path, "-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", *options(arch, texts)]
    done = subprocess.run(  # noqa: S603 - a compiler that was looked up
        [*command, *flags, "-S", str(file), "-o", "-"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"{file.name} does not compile for {arch}:\n{done.stderr}")
    return done.stdout


def clang(arch: str) -> Clang:
    """The newest clang that compiles for `arch`.

    Raises:
        BuildError: There is none.
    """
    for found in clangs():
        if arch in found.archs:
            return found
    raise BuildError(f"this host has no clang that supports {arch}; install Debian's package clang-22")
