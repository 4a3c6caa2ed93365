"""Parses AMD assembly of LLVM: the resources of each kernel, and the source line of each instruction.

The fields are those of the metadata block and of the comments below each function, described in LLVM's "User Guide for
AMDGPU Backend".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

MemoryKind = Literal["global load", "global store", "lds load", "lds store", "scratch load", "scratch store"]

WIDEST = 16
"""Most bytes that one instruction moves for a thread."""

MATRIX_PREFIXES = ("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")
"""Matrix instructions of CDNA, then those of RDNA and gfx1250."""


@dataclass(frozen=True)
class MemoryAccess:
    """Memory instructions of one kind that move the same number of bytes per thread."""

    kind: MemoryKind
    bytes: int
    """Bytes that one thread moves with one instruction."""
    count: int


@dataclass(frozen=True)
class Resources:
    """Resources of a kernel, as reported by the compiler."""

    name: str
    vgprs: int
    """Vector registers of a thread, accumulation registers (AGPRs) included."""
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    """Memory of a thread for spilled registers, and for arrays that are not in registers."""
    lds_bytes: int
    """LDS of a workgroup that is known at compile time."""
    waves_per_simd: int
    code_bytes: int
    most_threads: int
    """Most threads of a workgroup that the code allows."""
    instructions: int
    matrix_instructions: int
    """MFMA and WMMA instructions, which the matrix cores run."""
    memory: list[MemoryAccess]

    @property
    def spills(self) -> int:
        """Number of spilled vector and scalar registers."""
        return self.vgpr_spills + self.sgpr_spills

    def wide(self, kind: MemoryKind) -> int:
        """Number of instructions of a kind that move 16 bytes per thread."""
        return sum(access.count for access in self.memory if access.kind == kind and access.bytes == WIDEST)

    def narrow(self, kind: MemoryKind) -> int:
        """Number of instructions of a kind that move less than 16 bytes per thread."""
        return sum(access.count for access in self.memory if access.kind == kind and access.bytes < WIDEST)


@dataclass(frozen=True)
class LineRange:
    """A range of assembly lines, from 1 and including both ends, that belong to one line of the source."""

    first: int
    last: int
    source: int


_BODY = re.compile(r"^(?P<name>[\w.$]+):\s*; @(?P=name)$(?P<body>.*?)^\.Lfunc_end\d+:", re.MULTILINE | re.DOTALL)
_INSTRUCTION = re.compile(r"^\t(?P<name>(?:s|v|ds|global|buffer|flat|scratch|tensor|image)_\w+)\b", re.MULTILINE)
_MEMORY = re.compile(r"(global|flat|buffer|scratch|ds)_(load|store|read|write)(2|2st64)?_(\w+)")


def resources(assembly: str) -> list[Resources]:
    """The resources of each kernel of a listing, in the order of the metadata."""
    metadata = assembly.partition(".amdgpu_metadata")[2]
    bodies = {found["name"]: found["body"] for found in _BODY.finditer(assembly)}
    kernels = []
    # One block of fields per kernel; the fields of its arguments are indented further.
    for block in re.split(r"^  - (?=\.)", metadata, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^(?:    )?\.(\w+):\s+(\S+)$", block, re.MULTILINE))
        name = fields["name"].strip("'\"")
        names = _INSTRUCTION.findall(bodies.get(name, ""))
        comments = _comments_after(assembly, name)
        kernels.append(
            Resources(
                name=name,
                vgprs=int(fields["vgpr_count"]),
                agprs=int(fields.get("agpr_count", 0)),
                sgprs=int(fields["sgpr_count"]),
                vgpr_spills=int(fields.get("vgpr_spill_count", 0)),
                sgpr_spills=int(fields.get("sgpr_spill_count", 0)),
                scratch_bytes=int(fields["private_segment_fixed_size"]),
                lds_bytes=int(fields["group_segment_fixed_size"]),
                waves_per_simd=_waves_per_simd(assembly, name, int(fields["vgpr_count"])),
                code_bytes=comments["codeLenInByte"],
                most_threads=int(fields["max_flat_workgroup_size"]),
                instructions=len(names),
                matrix_instructions=sum(name.startswith(MATRIX_PREFIXES) for name in names),
                memory=_memory(names),
            )
        )
    return kernels


def _comments_after(assembly: str, kernel: str) -> dict[str, int]:
    """The figures of the comment block after a kernel's code."""
    _, _, after = assembly.partition(f".amdhsa_kernel {kernel}\n")
    block = after.partition("; Kernel info:")[2].partition("\n\t.text")[0]
    return {name: int(value) for name, value in re.findall(r"^; (\w+)\s*[:=]\s*(\d+)", block, re.MULTILINE)}


def _waves_per_simd(assembly: str, kernel: str, vgprs: int) -> int:
    """The occupancy of the comment block after a kernel's code.

    For a kernel that calls pointers to functions, the compiler prints the expression of it: the most wavefronts, the
    granule and number of the registers, the generation, and the limit from LDS.
    """
    comments = _comments_after(assembly, kernel)
    if "Occupancy" in comments:
        return comments["Occupancy"]
    _, _, after = assembly.partition(f".amdhsa_kernel {kernel}\n")
    found = re.search(r"^; Occupancy: occupancy\((\d+), (\d+), (\d+), \d+, (\d+),", after, re.MULTILINE)
    assert found is not None  # noqa: S101 - the compiler prints a number or this expression
    most, granule, registers, limit = map(int, found.groups())
    return min(most, limit, registers // (-(-max(vgprs, 1) // granule) * granule))


_WIDTHS = {
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
    "b8": 1,
    "u8": 1,
    "i8": 1,
    "b16": 2,
    "u16": 2,
    "i16": 2,
    "b32": 4,
    "b64": 8,
    "b96": 12,
    "b128": 16,
    "ubyte": 1,
    "sbyte": 1,
    "byte": 1,
    "ushort": 2,
    "sshort": 2,
    "short": 2,
}


def _memory(names: list[str]) -> list[MemoryAccess]:
    counted: Counter[tuple[MemoryKind, int]] = Counter()
    for name in names:
        found = _MEMORY.fullmatch(name)
        if found is None:
            continue
        place, way, twice, suffix = found.groups()
        # The type may be followed by a destination: `ubyte_d16_hi`, `b64_tr_b16`, `lds_dwordx4`.
        width = next((_WIDTHS[part] for part in suffix.removeprefix("lds_").split("_") if part in _WIDTHS), None)
        if width is None:
            continue
        where = {"ds": "lds", "scratch": "scratch"}.get(place, "global")
        direction = "load" if way in ("load", "read") else "store"
        kind: MemoryKind = f"{where} {direction}"  # type: ignore[assignment]
        counted[kind, width * (2 if twice else 1)] += 1
    return [MemoryAccess(kind, width, count) for (kind, width), count in sorted(counted.items(), reverse=True)]


def line_map(assembly: str, source_name: str) -> list[LineRange]:
    """The line of the file `source_name` for each range of instructions.

    Code that was inlined from a header belongs to the line that uses it. Empty if the assembly has no debug
    information; instructions with line 0 belong to no line.
    """
    # LLVM writes the place and, innermost first, the inlined calls as a comment after `.loc`.
    location = re.compile(rf"^\t\.loc\t.*;.*?\b{re.escape(source_name)}:(\d+):")
    ranges: list[LineRange] = []
    current = first = last = 0

    def close() -> None:
        if current and last:
            ranges.append(LineRange(first, last, current))

    for number, text in enumerate(assembly.splitlines(), start=1):
        if text.startswith("\t.loc\t"):
            found = location.match(text)
            line = int(found[1]) if found else 0
            if line != current:
                close()
                current, first, last = line, 0, 0
        elif _INSTRUCTION.match(text):
            first, last = first or number, number
        elif text.startswith(".Lfunc_end"):
            close()
            current = first = last = 0
    return ranges
