"""rocprof-compute: hardware counters against the machine's limits. ROCm documentation, "ROCm Compute Profiler".

It runs a program many times, a few counters each, so that a profile takes minutes. What it analyzes it prints; what it
measured lies in the workload's folder as `pmc_perf.csv` (compressed since ROCm 10), which is read here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.profile.files import open_text
from hipward_kernels.profile.tool import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOOL = "rocprof-compute"
SECONDS = 7200.0

_DESCRIPTIONS = {
    "Dispatch_ID",
    "GPU_ID",
    "Grid_Size",
    "Workgroup_Size",
    "LDS_Per_Workgroup",
    "Scratch_Per_Workitem",
    "Arch_VGPR",
    "Accum_VGPR",
    "SGPR",
    "Kernel_Name",
    "Start_Timestamp",
    "End_Timestamp",
    "Kernel_ID",
    "Queue_ID",
    "Process_ID",
    "Thread_ID",
    "Node",
    "Correlation_ID",
}
"""Columns that describe a dispatch; the others are counters."""


@dataclass(frozen=True)
class Counters:
    """One dispatch with what was counted."""

    dispatch: int
    kernel: str
    ns: int
    values: dict[str, float]
    """By the hardware's own names: `SQ_INSTS_VALU`, `TCC_HIT_sum`."""


def profile_command(program: Sequence[str], name: str, directory: Path, *, roofline_only: bool = False) -> list[str]:
    """The command line that measures `program` as the workload `name` below `directory`."""
    kind = ["--roof-only", "--kernel-names"] if roofline_only else ["--no-roof"]
    return [TOOL, "profile", "-n", name, "-p", str(directory / name), *kind, "--", *program]


def analyze_command(workload: Path, *, dispatch: int | None = None, list_stats: bool = False) -> list[str]:
    """The command line that prints an analysis of a measured workload, of one dispatch or of its hotspots."""
    if list_stats:
        return [TOOL, "analyze", "-p", str(workload), "--list-stats"]
    chosen = [] if dispatch is None else ["--dispatch", str(dispatch)]
    return [TOOL, "analyze", "-p", str(workload), *chosen]


def profile(program: Sequence[str], name: str, directory: Path, *, seconds: float = SECONDS) -> list[Counters]:
    """Runs `program` under the tool; every dispatch with its counters.

    Raises:
        ToolMissingError: The tool is not on this host.
        ToolFailedError: It failed.
        ValueError: It wrote nothing that can be read.
    """
    run(profile_command(program, name, directory), seconds=seconds)
    return read(directory / name)


def read(workload: Path) -> list[Counters]:
    """The counters of a workload's folder.

    Raises:
        ValueError: There are none.
    """
    found = sorted([*workload.rglob("pmc_perf.csv"), *workload.rglob("pmc_perf.csv.gz")])
    if not found:
        raise ValueError(f"rocprof-compute left no pmc_perf.csv in {workload}")
    path = found[0]
    with open_text(path) as file:
        reader = csv.DictReader(file)
        if missing := {"Kernel_Name", "Start_Timestamp", "End_Timestamp"} - set(reader.fieldnames or []):
            raise ValueError(f"{path} lacks the columns {', '.join(sorted(missing))}")
        return [
            Counters(
                dispatch=int(row.get("Dispatch_ID") or at),
                kernel=row["Kernel_Name"],
                ns=int(row["End_Timestamp"]) - int(row["Start_Timestamp"]),
                values={name: float(v) for name, v in row.items() if name not in _DESCRIPTIONS and _is_number(v)},
            )
            for at, row in enumerate(reader)
        ]


def _is_number(text: str | None) -> bool:
    try:
        float(text or "")
    except ValueError:
        return False
    return True
