"""rocprofv3: every kernel's time, from the hardware's own timestamps. ROCm documentation, "Using rocprofv3".

It writes rocpd by default; CSV directly is deprecated, and `rocpd convert` makes it from the database. Both are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.profile import rocpd
from hipward_kernels.profile.dispatch import Dispatch
from hipward_kernels.profile.files import rows, whole
from hipward_kernels.profile.tool import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOOL = "rocprofv3"
NAME = "profile"
SECONDS = 3600.0


@dataclass(frozen=True)
class KernelStats:
    """A row of `…_kernel_stats.csv`."""

    name: str
    calls: int
    total_ns: float
    average_ns: float
    percentage: float


@dataclass(frozen=True)
class HipCall:
    """A call of the HIP runtime by the host; recorded with `hip_trace`."""

    name: str
    start_ns: int
    end_ns: int


def command(
    program: Sequence[str], directory: Path, *, counters: Sequence[str] = (), hip_trace: bool = False
) -> list[str]:
    """The command line that profiles `program` into `directory`.

    Args:
        program: The program and its arguments.
        directory: Where the tool writes.
        counters: Hardware counters, such as `SQ_WAVES`. Only few fit at a time, and kernels then run one by one.
        hip_trace: Also records HIP calls, which show launch overhead.
    """
    options = ["--kernel-trace", "--stats", "--truncate-kernels"]
    options += ["--hip-trace"] if hip_trace else []
    options += ["--pmc", *counters] if counters else []
    return [TOOL, *options, "--output-format", "rocpd", "-d", str(directory), "-o", NAME, "--", *program]


def profile(program: Sequence[str], directory: Path, *, seconds: float = SECONDS) -> list[Dispatch]:
    """Runs `program` under the tool; returns every kernel launch.

    Raises:
        ToolMissingError: The tool is not on this host.
        ToolFailedError: It failed.
        ValueError: It wrote nothing that can be read.
    """
    run(command(program, directory), seconds=seconds)
    return read(directory)


def read(directory: Path) -> list[Dispatch]:
    """Reads the tool's database below `directory`, or its CSV traces of kernels.

    Raises:
        ValueError: There is neither.
    """
    if databases := sorted(directory.rglob("*.db")):
        return sorted((one for path in databases for one in rocpd.read(path)), key=lambda one: one.start_ns)
    if traces := sorted([*directory.rglob("*kernel_trace.csv"), *directory.rglob("*kernel_trace.csv.gz")]):
        return sorted((one for path in traces for one in read_kernel_trace(path)), key=lambda one: one.start_ns)
    raise ValueError(f"rocprofv3 left neither a database nor a kernel trace in {directory}")


def read_hip_calls(directory: Path) -> list[HipCall]:
    """The calls of the HIP runtime below `directory`, in order; none if they were not recorded.

    Raises:
        ValueError: A file cannot be read.
    """
    if databases := sorted(directory.rglob("*.db")):
        calls = [HipCall(*region) for path in databases for region in rocpd.read_regions(path, "hip")]
    else:
        traces = sorted([*directory.rglob("*hip_api_trace.csv"), *directory.rglob("*hip_api_trace.csv.gz")])
        calls = [
            HipCall(row["Function"], whole(row, "Start_Timestamp"), whole(row, "End_Timestamp"))
            for path in traces
            for row in rows(path, "Function", "Start_Timestamp", "End_Timestamp")
        ]
    return sorted(calls, key=lambda call: call.start_ns)


def read_kernel_trace(path: Path) -> list[Dispatch]:
    """Reads `…_kernel_trace.csv`.

    Raises:
        ValueError: It is not a kernel trace, or is incomplete.
    """
    needed = ("Kernel_Name", "Start_Timestamp", "End_Timestamp", *_sides("Workgroup_Size"), *_sides("Grid_Size"))
    return [
        Dispatch(
            kernel=row["Kernel_Name"],
            start_ns=whole(row, "Start_Timestamp"),
            end_ns=whole(row, "End_Timestamp"),
            vgprs=_maybe(row, "VGPR_Count"),
            agprs=_maybe(row, "Accum_VGPR_Count"),
            sgprs=_maybe(row, "SGPR_Count"),
            # The second names are those of ROCm 6.
            lds_bytes=_maybe(row, "LDS_Block_Size", "Group_Segment_Size"),
            scratch_bytes=_maybe(row, "Scratch_Size", "Private_Segment_Size"),
            workgroup_threads=math.prod(whole(row, side) for side in _sides("Workgroup_Size")),
            grid_threads=math.prod(whole(row, side) for side in _sides("Grid_Size")),
        )
        for row in rows(path, *needed)
    ]


def read_kernel_stats(path: Path) -> list[KernelStats]:
    """Reads `…_kernel_stats.csv`, in the order of the file: longest first.

    Raises:
        ValueError: It contains no statistics of kernels, or is incomplete.
    """
    return [
        KernelStats(
            row["Name"],
            whole(row, "Calls"),
            float(row["TotalDurationNs"]),
            float(row["AverageNs"]),
            # Small values may be written as `<0.01`.
            float(row["Percentage"].lstrip("<")),
        )
        for row in rows(path, "Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
    ]


def _sides(name: str) -> list[str]:
    return [f"{name}_{side}" for side in "XYZ"]


def _maybe(row: dict[str, str], *names: str) -> int | None:
    """The number in the first of these columns that exists."""
    return next((whole(row, name) for name in names if row.get(name)), None)
