"""rocprof-compute: hardware counters against the machine's limits. ROCm documentation, "ROCm Compute Profiler".

It runs a program many times with a few counters each, so a profile takes minutes. It prints analyses and writes
measurements to the workload's directory, compressed since ROCm 10: a `results_….csv` for each pass, with a row for each
counter of a dispatch, which `analyze` joins to `pmc_perf.csv`; before ROCm 7.13 only that file, with a column for each
counter. This module reads all of them. Columns: rocprofiler-compute, `src/utils/rocpd_data.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.profile.files import rows, whole
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
    "Correlation_Id",
    "GUID",
}
"""Columns that describe a dispatch; the others are counters."""


@dataclass(frozen=True)
class Counters:
    """A dispatch with its counters."""

    dispatch: int
    kernel: str
    ns: int
    values: dict[str, float]
    """Values by the hardware's names: `SQ_INSTS_VALU`, `TCC_HIT_sum`."""


def profile_command(program: Sequence[str], name: str, directory: Path, *, roofline_only: bool = False) -> list[str]:
    """The command line that profiles `program` into the directory `name` of `directory`."""
    kind = "--roof-only" if roofline_only else "--no-roof"
    return [TOOL, "profile", "--output-directory", str(directory / name), kind, "--", *program]


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
    whole = _files(workload, "pmc_perf")
    found: dict[int, Counters] = {}
    for path in whole[:1] or _files(workload, "results_*"):
        for one in read_file(path):
            # Each pass runs the same program, so dispatches are identified by number.
            known = found.setdefault(one.dispatch, one)
            if known.kernel != one.kernel:
                raise ValueError(f"{path}: dispatch {one.dispatch} is {one.kernel}, and {known.kernel} in another pass")
            known.values.update(one.values)
    if not found:
        raise ValueError(f"rocprof-compute left neither pmc_perf.csv nor results_….csv in {workload}")
    return sorted(found.values(), key=lambda one: one.dispatch)


def _files(workload: Path, name: str) -> list[Path]:
    return sorted([*workload.rglob(f"{name}.csv"), *workload.rglob(f"{name}.csv.gz")])


def read_file(path: Path) -> list[Counters]:
    """Reads a table of counters in either form.

    Raises:
        ValueError: The file has neither form.
    """
    found: dict[int, Counters] = {}
    for at, row in enumerate(rows(path, "Kernel_Name", "Start_Timestamp", "End_Timestamp")):
        dispatch = whole(row, "Dispatch_ID") if row.get("Dispatch_ID") else at
        ns = whole(row, "End_Timestamp") - whole(row, "Start_Timestamp")
        counters = found.setdefault(dispatch, Counters(dispatch, row["Kernel_Name"], ns, {}))
        counted = row.items()
        if {"Counter_Name", "Counter_Value"} <= row.keys():
            counted = {row["Counter_Name"]: row["Counter_Value"]}.items()
        # The cell of a counter that this pass did not read is empty.
        shown = {name: value for name, value in counted if name not in _DESCRIPTIONS and _is_number(value)}
        counters.values.update({name: float(value) for name, value in shown.items()})
    return list(found.values())


@dataclass(frozen=True)
class Peak:
    """A limit of the GPU, measured by rocprof-compute's own benchmark."""

    value: float
    """In GB/s or GFLOP/s."""
    unit: str
    """`TB/s` or `TFLOP/s`, for a thousandth of the value."""


def read_roofline(workload: Path) -> list[dict[str, Peak]]:
    """The limits in `roofline.csv`, which `--roof-only` writes, by name for each device: `HBMBw`, `MFMABF16Flops`.

    Raises:
        ValueError: There is no such file, or it has no limits.
    """
    paths = _files(workload, "roofline")
    if not paths:
        raise ValueError(f"rocprof-compute left no roofline.csv in {workload}")
    devices = []
    for row in rows(paths[0]):
        peaks = {}
        for name, value in row.items():
            unit = "TB/s" if name.endswith("Bw") else "TFLOP/s" if name.endswith(("Flops", "Ops")) else None
            # A limit that the GPU does not have is 0 or empty.
            if unit is not None and _is_number(value) and float(value) > 0:
                peaks[name] = Peak(float(value), unit)
        devices.append(peaks)
    if not any(devices):
        raise ValueError(f"{paths[0]} has no bandwidths and rates")
    return devices


def _is_number(text: str | None) -> bool:
    try:
        float(text or "")
    except ValueError:
        return False
    return True
