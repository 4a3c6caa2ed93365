"""The shape of an answer, the same for both languages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from hipward_kernels.compile.listing import LineRange, Resources, line_map, resources
from hipward_kernels.compile.occupancy import Occupancy, occupancy
from hipward_kernels.gpu.facts import wavefront_of

if TYPE_CHECKING:
    from hipward_kernels.compile.failure import Failure

TEXT_LIMIT = 1 << 20
"""Characters of one text in an answer; the rest is cut off, and the text ends in a line that says so."""


@dataclass(frozen=True)
class Argument:
    """One argument of a Triton kernel as it was compiled."""

    name: str
    type: str
    """`*bf16`, `i32:16`, or `constexpr`."""
    value: Any
    """Of a constant; None otherwise."""
    source: Literal["request", "annotation", "default", "autotune", "guess"]
    """Where the type or value comes from."""


@dataclass(frozen=True)
class Kernel:
    """One kernel on one target."""

    resources: Resources
    occupancy: Occupancy


@dataclass(frozen=True)
class Target:
    """What a source became on one GPU."""

    arch: str
    seconds: float
    kernels: list[Kernel] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """By the compiler's name of the stage: `ttir`, `ttgir`, `llir`, `amdgcn`."""
    lines: list[LineRange] = field(default_factory=list)
    """Which lines of `amdgcn` each line of the source became."""
    error: Failure | None = None
    """Why there is nothing for this GPU."""


@dataclass(frozen=True)
class Answer:
    """Every target of a request."""

    language: str
    compiler: str
    """`Triton 3.9.0`, `clang 22.1.8`."""
    targets: list[Target]
    signature: list[Argument] = field(default_factory=list)
    """Triton: what was compiled, guesses included."""
    num_warps: int | None = None
    """Triton: wavefronts of a workgroup."""


def target(
    arch: str,
    seconds: float,
    texts: dict[str, str],
    source_name: str,
    workgroup_waves: int | None = None,
    dynamic_lds: int = 0,
) -> Target:
    """Reads what was compiled for one GPU.

    Args:
        arch: The GPU.
        seconds: How long it took.
        texts: What the stages gave; `amdgcn` is read.
        source_name: Name of the source's file in debug information.
        workgroup_waves: Wavefronts of a workgroup; the largest that the code allows unless given.
        dynamic_lds: Shared memory in bytes that is asked for at the launch.
    """
    assembly = texts["amdgcn"]
    kernels = []
    for declared in resources(assembly):
        used = replace(declared, lds_bytes=declared.lds_bytes + dynamic_lds)
        waves = workgroup_waves or max(used.most_threads // wavefront_of(arch), 1)
        kernels.append(Kernel(used, occupancy(arch, used.waves_per_simd, used.lds_bytes, waves)))
    shown = {name: _cut(text) for name, text in texts.items()}
    return Target(arch, seconds, kernels, shown, line_map(assembly, source_name))


def _cut(text: str) -> str:
    if len(text) <= TEXT_LIMIT:
        return text
    return text[:TEXT_LIMIT] + f"\n; cut off: {len(text) - TEXT_LIMIT} characters more\n"
