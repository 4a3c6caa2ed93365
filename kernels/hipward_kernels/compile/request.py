"""A compilation request: one JSON object.

    {"language": "triton", "source": "…", "archs": ["gfx942"], "kernel": "scale",
     "arguments": {"x_ptr": "*bf16", "n": "i32:16", "eps": "fp32", "BLOCK": 1024},
     "num_warps": 4, "num_stages": 2, "waves_per_eu": 0}

    {"language": "hip", "source": "…", "archs": ["gfx90a", "gfx942", "gfx950"]}

Only `language` and `source` are required. `arguments` follows the signature of Triton's ahead-of-time compiler
(`triton/tools/compile.py`): a string is a type (`*bf16`, `i32`, `fp32`), the suffix `:16` means divisible by 16,
and any other value is a constant. Pointers are assumed to be aligned to 16 bytes, which PyTorch's allocator guarantees,
unless they have the suffix `:1`. Missing arguments are guessed (`signature.py`), and the answer lists the guesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from hipward_kernels.compile.failure import CompileError
from hipward_kernels.gpu.facts import archs

Language = Literal["triton", "hip"]

ARCHS = ("gfx90a", "gfx942", "gfx950")
"""MI200, MI300 and MI350: the targets if a request names none."""

KNOWN_ARCHS = tuple(name for name, arch in archs().items() if arch.vendor == "amd")
"""Targets whose limits are known. Others compile too, if the compiler has them."""

MOST_ARCHS = 16
MOST_SOURCE = 256 * 1024

_HELP = "See hipward_kernels/compile/request.py for the fields and an example of each."


@dataclass(frozen=True)
class Request:
    """A source with its targets and options."""

    language: Language
    source: str
    archs: tuple[str, ...] = ARCHS
    kernel: str | None = None
    """Triton: the kernel's name, required if the source has more than one."""
    arguments: dict[str, Any] = field(default_factory=dict)
    num_warps: int | None = None
    """Wavefronts of a workgroup; Triton's default is 4."""
    num_stages: int | None = None
    """Depth of software pipelining; Triton's default on AMD is 2."""
    waves_per_eu: int = 0
    """Triton: wavefronts per SIMD that the registers are limited for; 0 means the compiler's default."""
    flags: tuple[str, ...] = ()
    """HIP: further flags for clang that `FLAGS` allows."""

    @staticmethod
    def from_json(value: Any) -> Request:
        """Validates a parsed request.

        Raises:
            CompileError: The request is not valid.
        """
        if not isinstance(value, dict):
            raise _bad("a request is a JSON object")
        known = set(Request.__dataclass_fields__)
        if unknown := sorted(set(value) - known):
            raise _bad(f"unknown fields: {', '.join(map(str, unknown))}; known are {', '.join(sorted(known))}")
        if value.get("language") not in ("triton", "hip"):
            raise _bad("language is `triton` or `hip`")
        source = value.get("source")
        if not isinstance(source, str) or not source.strip():
            raise _bad("source is the text of the kernel")
        if len(source) > MOST_SOURCE:
            raise _bad(f"source has {len(source)} characters; {MOST_SOURCE} are allowed")
        arguments = value.get("arguments", {})
        if not isinstance(arguments, dict):
            raise _bad("arguments is an object: a name and its type or value")
        kernel = value.get("kernel")
        if kernel is not None and not isinstance(kernel, str):
            raise _bad("kernel is a name")
        return Request(
            language=cast("Language", value["language"]),
            source=source,
            archs=_archs(value.get("archs", list(ARCHS))),
            kernel=kernel,
            arguments=arguments,
            num_warps=_count(value, "num_warps", 1, 16),
            num_stages=_count(value, "num_stages", 1, 8),
            waves_per_eu=_count(value, "waves_per_eu", 0, 10) or 0,
            flags=_flags(value.get("flags", [])),
        )


FLAGS = re.compile(r"-D\w+(=[\w.+-]*)?|-O[0-3s]|-std=c\+\+\d\d|-ffast-math|-ffp-contract=(off|on|fast)|-m(no-)?cumode")
"""Allowed flags of clang: they change the code and open no file."""


def _flags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(flag, str) for flag in value):
        raise _bad("flags is a list of strings")
    if refused := [flag for flag in value if not FLAGS.fullmatch(flag)]:
        raise _bad(f"these flags are not allowed: {' '.join(refused)}")
    return tuple(value)


def _archs(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ARCHS:
        raise _bad(f"archs is a list of 1 to {MOST_ARCHS} targets such as gfx942")
    for arch in value:
        if not isinstance(arch, str) or not re.fullmatch(r"gfx[0-9a-f]{3,5}", arch):
            raise _bad(f"{arch!r} is not a target; targets have names such as gfx942")
    return tuple(dict.fromkeys(value))


def _count(value: dict[str, Any], name: str, least: int, most: int) -> int | None:
    count = value.get(name)
    if count is None:
        return None
    if not isinstance(count, int) or isinstance(count, bool) or not least <= count <= most:
        raise _bad(f"{name} is a whole number from {least} to {most}")
    return count


def _bad(what: str) -> CompileError:
    return CompileError("bad-request", f"The request cannot be used: {what}.", _HELP)
