"""Records kernels that the site's page for machine code executes: `python -m hipward_kernels.compile.record_launches`.

The file is `results/launches.json`: for each kernel its source, its assembly with descriptor and metadata, and the
launch that the page suggests. A test compiles the kernels again and compares.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hipward_kernels.compile import Request, compile_source
from hipward_kernels.compile.listing import line_map

FOLDER = Path(__file__).with_name("explorer")
RECORD = Path(__file__).parent.parent.parent / "results" / "launches.json"
ARCH = "gfx942"


def _buffer(name: str, kind: str, count: int, fill: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "count": count, "fill": fill}


def _value(name: str, kind: str, number: float) -> dict[str, Any]:
    return {"name": name, "type": kind, "value": str(number)}


SCRATCH = [{"name": name, "type": None} for name in ("global_scratch", "profile_scratch")]
"""Addresses that Triton adds, null for kernels without scratch."""


@dataclass(frozen=True)
class Launch:
    """A kernel and the launch that the page suggests."""

    name: str
    title: str
    about: str
    file: Path
    grid: list[int]
    workgroup: list[int]
    arguments: list[dict[str, Any]]
    compiled_for: dict[str, Any] = field(default_factory=dict)
    """Triton: types and constants."""


LAUNCHES = [
    Launch(
        "branch",
        "A loop that lanes leave at different times (HIP)",
        "Step to the loop and watch the mask: lanes that have left it do no work until the last one leaves.",
        FOLDER / "branch.hip",
        [1, 1, 1],
        [64, 1, 1],
        [_buffer("x", "f32", 64, "index"), _buffer("y", "i32", 64, "unwritten")],
    ),
    Launch(
        "transpose",
        "A transpose with bank conflicts (HIP)",
        "The reads of LDS go down a column, which is in one bank.",
        FOLDER / "transpose.hip",
        [1, 1, 1],
        [256, 1, 1],
        [_buffer("x", "f32", 1024, "index"), _buffer("y", "f32", 1024, "unwritten")],
    ),
    Launch(
        "past-the-end",
        "A load past the end of a buffer (HIP)",
        "The last lane loads an element that does not exist; the check reports it with the line and the lane.",
        FOLDER / "past_the_end.hip",
        [1, 1, 1],
        [64, 1, 1],
        [_buffer("x", "f32", 64, "index"), _buffer("y", "f32", 64, "unwritten"), _value("n", "i32", 64)],
    ),
    Launch(
        "softmax",
        "Softmax of 64 rows of 64 (Triton)",
        "A row has one element for each lane of one wavefront, so the four wavefronts of a program load the same data.",
        Path(__file__).with_name("softmax.py"),
        [64, 1, 1],
        [256, 1, 1],
        [
            _buffer("x_ptr", "f32", 4096, "random"),
            _buffer("y_ptr", "f32", 4096, "unwritten"),
            _value("stride", "i32", 64),
            *SCRATCH,
        ],
        {"x_ptr": "*fp32", "y_ptr": "*fp32", "stride": "i32:16", "N": 64, "BLOCK": 64},
    ),
    Launch(
        "rmsnorm",
        "RMSNorm of two rows of 4096 (Triton)",
        "The kernel of the recorded example above: four wavefronts share a row and exchange their sums through LDS.",
        Path(__file__).with_name("example.py"),
        [2, 1, 1],
        [256, 1, 1],
        [
            _buffer("x_ptr", "bf16", 8192, "random"),
            _buffer("weight_ptr", "bf16", 4096, "ones"),
            _buffer("y_ptr", "bf16", 8192, "unwritten"),
            _value("stride", "i32", 4096),
            _value("eps", "f32", 1e-6),
            *SCRATCH,
        ],
        {"stride": "i32:16", "N": 4096, "BLOCK": 4096},
    ),
]


_DEBUG = re.compile(
    r"^\t\.section\t\.debug_.*?(?=^\t\.(?:section\t(?!\.debug_)|text|amdgpu_metadata))", re.MULTILINE | re.DOTALL
)
_UNUSED = re.compile(
    r"^(?:\t\.(?:cfi_|ident|addrsig|set |size|fill|p2align|globl|protected|type|hidden)|; (?!%bb)).*\n", re.MULTILINE
)


def slim(assembly: str) -> str:
    """Removes debug sections, frame information, comments on resources, and paths of the recording machine."""
    code, end, _ = _DEBUG.sub("", assembly).partition("\t.end_amdgpu_metadata\n")
    code = _UNUSED.sub("", code)
    code = re.sub(r'(\.file\s+\d+ )"[^"]*"', r'\1"."', code)
    code = re.sub(r" md5 0x[0-9a-f]+", "", code)
    return re.sub(r"/\S*/(?=[^/\s]+:\d+:\d+)", "", code) + end


def record_launch(launch: Launch) -> dict[str, Any]:
    """The entry of a kernel."""
    source = launch.file.read_text(encoding="utf-8")
    language = "triton" if launch.file.suffix == ".py" else "hip"
    description: dict[str, Any] = {"language": language, "source": source, "archs": [ARCH]}
    if launch.compiled_for:
        description["arguments"] = launch.compiled_for
    with tempfile.TemporaryDirectory(prefix="hipward-") as directory:
        answer = compile_source(Request.from_json(description), Path(directory))
    [target] = answer["targets"]
    [kernel] = target["kernels"]
    listing = slim(target["texts"]["amdgcn"])
    return {
        "name": launch.name,
        "title": launch.title,
        "about": launch.about,
        "compiler": answer["compiler"],
        "arch": ARCH,
        "source": source,
        "listing": listing,
        "lines": [asdict(part) for part in line_map(listing, "kernel.py" if language == "triton" else "kernel.hip")],
        "lds": kernel["resources"]["lds_bytes"],
        "occupancy": kernel["occupancy"],
        "grid": launch.grid,
        "workgroup": launch.workgroup,
        "arguments": launch.arguments,
    }


def record() -> dict[str, Any]:
    """All entries."""
    return {
        "command": "python -m hipward_kernels.compile.record_launches",
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "launches": [record_launch(launch) for launch in LAUNCHES],
    }


def main() -> None:
    """Entry point."""
    RECORD.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    print(RECORD)


if __name__ == "__main__":
    main()
