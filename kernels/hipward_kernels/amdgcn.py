"""Compiles Triton kernels to AMD machine code on any host, and reads what the code uses.

No AMD GPU and no ROCm are needed: Triton brings the compiler. Nothing is run here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as triton_compile

if TYPE_CHECKING:
    from collections.abc import Mapping

WAVEFRONT = 64
"""Threads of a wavefront on every CDNA GPU."""


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
    """Compiles a kernel for `arch`, such as `gfx942`, as a launch with well-shaped arguments would.

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
    options = {"num_warps": num_warps, "enable_fp_fusion": True}
    source = ASTSource(kernel, {name: types[name] for name in names}, dict(constants), attributes)
    compiled = triton_compile(source, target=GPUTarget("hip", arch, WAVEFRONT), options=options)
    text: str = compiled.asm["amdgcn"]
    return MachineCode(
        text=text,
        vgprs=_number(r"\.vgpr_count:\s*(\d+)", text),
        spills=_number(r"\.vgpr_spill_count:\s*(\d+)", text) + _number(r"\.sgpr_spill_count:\s*(\d+)", text),
        occupancy=_number(r"; Occupancy:\s*(\d+)", text),
        lds_bytes=compiled.metadata.shared,
    )


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"the compiler's output has no {pattern}")
    return int(found.group(1))
