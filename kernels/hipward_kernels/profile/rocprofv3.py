"""rocprofv3: every kernel's time, from the hardware's own timestamps. ROCm documentation, "Using rocprofv3".

It writes rocpd by default; CSV directly is deprecated, and `rocpd convert` makes it from the database. Both are read.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.profile import rocpd
from hipward_kernels.profile.dispatch import Dispatch
from hipward_kernels.profile.files import open_text
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


def command(
    program: Sequence[str], directory: Path, *, counters: Sequence[str] = (), hip_trace: bool = False
) -> list[str]:
    """The command line that profiles `program` into `directory`.

    Args:
        program: The program and its arguments.
        directory: Where the tool writes.
        counters: Hardware counters to read, such as `SQ_WAVES`; few at a time fit, and kernels run one by one then.
        hip_trace: Record calls of HIP, too, which shows launch overhead.
    """
    options = ["--kernel-trace", "--stats", "--truncate-kernels"]
    options += ["--hip-trace"] if hip_trace else []
    options += ["--pmc", *counters] if counters else []
    return [TOOL, *options, "--output-format", "rocpd", "-d", str(directory), "-o", NAME, "--", *program]


def profile(program: Sequence[str], directory: Path, *, seconds: float = SECONDS) -> list[Dispatch]:
    """Runs `program` under the tool; every kernel that ran.

    Raises:
        ToolMissingError: The tool is not on this host.
        ToolFailedError: It failed.
        ValueError: It wrote nothing that can be read.
    """
    run(command(program, directory), seconds=seconds)
    return read(directory)


def read(directory: Path) -> list[Dispatch]:
    """What the tool wrote below `directory`: its database, else its CSV traces of kernels.

    Raises:
        ValueError: There is neither.
    """
    if databases := sorted(directory.rglob("*.db")):
        return sorted((one for path in databases for one in rocpd.read(path)), key=lambda one: one.start_ns)
    if traces := sorted([*directory.rglob("*kernel_trace.csv"), *directory.rglob("*kernel_trace.csv.gz")]):
        return sorted((one for path in traces for one in read_kernel_trace(path)), key=lambda one: one.start_ns)
    raise ValueError(f"rocprofv3 left neither a database nor a kernel trace in {directory}")


def read_kernel_trace(path: Path) -> list[Dispatch]:
    """Reads `…_kernel_trace.csv`.

    Raises:
        ValueError: Its columns are not those of a kernel trace.
    """
    return [
        Dispatch(
            kernel=row["Kernel_Name"],
            start_ns=int(row["Start_Timestamp"]),
            end_ns=int(row["End_Timestamp"]),
            vgprs=int(row["VGPR_Count"]),
            agprs=int(row["Accum_VGPR_Count"]),
            sgprs=int(row["SGPR_Count"]),
            lds_bytes=int(row["LDS_Block_Size"]),
            scratch_bytes=int(row["Scratch_Size"]),
            workgroup_threads=_volume(row, "Workgroup_Size"),
            grid_threads=_volume(row, "Grid_Size"),
        )
        for row in _rows(path, "Kernel_Name", "Start_Timestamp", "End_Timestamp", "VGPR_Count", "Grid_Size_X")
    ]


def read_kernel_stats(path: Path) -> list[KernelStats]:
    """Reads `…_kernel_stats.csv`, in the order of the file: longest first.

    Raises:
        ValueError: Its columns are not those of kernel statistics.
    """
    return [
        KernelStats(
            row["Name"],
            int(row["Calls"]),
            float(row["TotalDurationNs"]),
            float(row["AverageNs"]),
            float(row["Percentage"]),
        )
        for row in _rows(path, "Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
    ]


def _rows(path: Path, *columns: str) -> list[dict[str, str]]:
    with open_text(path) as file:
        reader = csv.DictReader(file)
        if missing := [name for name in columns if name not in (reader.fieldnames or [])]:
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}")
        return list(reader)


def _volume(row: dict[str, str], name: str) -> int:
    return int(row[f"{name}_X"]) * int(row[f"{name}_Y"]) * int(row[f"{name}_Z"])
