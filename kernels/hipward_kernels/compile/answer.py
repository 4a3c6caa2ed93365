"""The answer to a request, the same for both languages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from hipward_kernels.compile.listing import LineRange, Resources, line_map, resources
from hipward_kernels.compile.occupancy import Occupancy, occupancy
from hipward_kernels.gpu.facts import wavefront_of

if TYPE_CHECKING:
    from hipward_kernels.compile.failure import Failure

TEXT_LIMIT = 1 << 20
"""Most characters of one text in an answer. A longer text is truncated and ends in a line that states it."""


@dataclass(frozen=True)
class Argument:
    """An argument of a compiled Triton kernel."""

    name: str
    type: str
    """`*bf16`, `i32:16`, or `constexpr`."""
    value: Any
    """Value of a constant; None otherwise."""
    source: Literal["request", "annotation", "default", "autotune", "guess"]
    """Origin of the type or value."""


@dataclass(frozen=True)
class Kernel:
    """A kernel on one target."""

    resources: Resources
    occupancy: Occupancy


@dataclass(frozen=True)
class Target:
    """The result for one target."""

    arch: str
    seconds: float
    kernels: list[Kernel] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """Text of each stage, by the compiler's name: `ttir`, `ttgir`, `llir`, `amdgcn`."""
    lines: list[LineRange] = field(default_factory=list)
    """Lines of `amdgcn` for each line of the source."""
    error: Failure | None = None
    """Why this target could not be compiled."""


@dataclass(frozen=True)
class Answer:
    """The results for every target of a request."""

    language: str
    compiler: str
    """`Triton 3.9.0`, `clang 22.1.8`."""
    targets: list[Target]
    signature: list[Argument] = field(default_factory=list)
    """Triton: the compiled signature, including guesses."""
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
    """Collects the result for one target.

    Args:
        arch: The architecture.
        seconds: Duration of the compilation.
        texts: Text of each stage; `amdgcn` is parsed.
        source_name: Name of the source's file in debug information.
        workgroup_waves: Wavefronts of a workgroup (default: the most that the code allows).
        dynamic_lds: LDS in bytes that is allocated at launch.
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
