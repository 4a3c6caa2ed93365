"""rocprof-sys: a timeline of host and device together. ROCm documentation, "Understanding the Systems Profiler output".

Writes a trace (Perfetto's `.proto`, or rocpd, which becomes its default after ROCm 10.0) and, with profiles enabled,
times of functions as JSON, which later versions write only on request. The trace is for https://ui.perfetto.dev or ROCm
Optiq; this module reads the times.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipward_kernels.profile.tool import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TOOL = "rocprof-sys-run"
SECONDS = 3600.0

_INDENTATION = re.compile(r"^\|[\d|]*>>>[ |]*?(?:\|_|(?=[^ |]))")


@dataclass(frozen=True)
class Region:
    """A function or range, including its callees."""

    name: str
    depth: int
    """Depth in the call tree; 0 for a thread's outermost function."""
    calls: int
    seconds: float


def command(program: Sequence[str]) -> list[str]:
    """The command line that traces and profiles `program`."""
    return [TOOL, "--profile", "--trace", "--", *program]


def variables(directory: Path) -> dict[str, str]:
    """Environment variables that make the tool write into `directory`, with names without times and process ids."""
    return {
        "ROCPROFSYS_OUTPUT_PATH": str(directory),
        "ROCPROFSYS_TIME_OUTPUT": "OFF",
        "ROCPROFSYS_USE_PID": "OFF",
        "ROCPROFSYS_JSON_OUTPUT": "ON",
    }


def profile(program: Sequence[str], directory: Path, *, seconds: float = SECONDS) -> list[Region]:
    """Runs `program` under the tool; the times of its functions.

    Raises:
        ToolMissingError: The tool is not on this host.
        ToolFailedError: It failed.
        ValueError: It wrote nothing that can be read.
    """
    run(command(program), seconds=seconds, variables=variables(directory))
    found = [*directory.rglob("wall-clock*.json"), *directory.rglob("wall_clock*.json")]
    if not found:
        raise ValueError(f"rocprof-sys left no wall-clock times in {directory}")
    return read_wall_clock(min(found))


def traces(directory: Path) -> list[Path]:
    """The traces that the tool wrote below `directory`."""
    return sorted([*directory.rglob("perfetto-trace*.proto"), *directory.rglob("*.db")])


def read_wall_clock(path: Path) -> list[Region]:
    """Reads `wall-clock.json`, written by the Timemory library: a flat list of each rank's call graph.

    Raises:
        ValueError: It is not such a file.
    """
    try:
        clock = json.loads(path.read_text(encoding="utf-8"))["timemory"]["wall_clock"]
        return [region for rank in clock["ranks"] for region in _regions(rank["graph"], clock.get("unit_value"))]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} does not hold wall-clock times ({type(error).__name__}: {error})") from error


def _regions(graph: Any, unit: Any) -> Iterator[Region]:
    # Times are in the unit of `repr_data`; the file contains its number of nanoseconds.
    scale = float(unit) * 1e-9 if unit else 1.0
    for node in graph:
        # `|00>>> |_name`: thread and indentation, then the name, which may itself begin with underscores.
        name = _INDENTATION.sub("", str(node["prefix"]))
        entry = node["entry"]
        yield Region(name, int(node["depth"]), int(entry["laps"]), float(entry["repr_data"]) * scale)
