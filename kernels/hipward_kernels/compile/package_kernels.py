"""Compiles this package's own kernels to AMD machine code on any host, with the launch that a GPU there would get.

No AMD GPU and no ROCm are needed: Triton brings its compiler, and HIP sources, which include no header but ours, need
only a clang that knows the architecture. Nothing is run here. Sources of others are `hipward_kernels.compile`'s, which
also reads the listings.
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
    compiled = triton_compile(source, target=GPUTarget("hip", arch, wavefront_of(arch)), options=compile_options)
    (used,) = resources(compiled.asm["amdgcn"])
    # Triton asks for shared memory at the launch.
    return replace(used, lds_bytes=used.lds_bytes + compiled.metadata.shared)


def compile_hip(arch: str, file: Path, entry: str, macros: Mapping[str, object]) -> Resources:
    """Compiles one kernel of a HIP source for `arch`, with clang.

    Args:
        arch: The GPU.
        file: The source.
        entry: The kernel's name.
        macros: What the source wants set, without `HIPWARD_`.

    Raises:
        BuildError: There is no clang for `arch`, or the source does not compile.
    """
    texts = {f"HIPWARD_{name}": str(value) for name, value in {"WAVE": wavefront_of(arch), **macros}.items()}
    command = [clang(arch).path, "-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", *options(arch, texts)]
    done = subprocess.run([*command, "-S", str(file), "-o", "-"], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BuildError(f"{file.name} does not compile for {arch}:\n{done.stderr}")
    for used in resources(done.stdout):
        if used.name == entry:
            return used
    raise BuildError(f"{file.name} has no kernel {entry}")


def clang(arch: str) -> Clang:
    """The newest clang that compiles for `arch`.

    Raises:
        BuildError: There is none.
    """
    for found in clangs():
        if arch in found.archs:
            return found
    raise BuildError(f"there is no clang here that compiles for {arch}; Debian's package is clang-22")
