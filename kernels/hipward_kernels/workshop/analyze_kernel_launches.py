"""Launches and the gaps between them, from a trace: `… analyze_kernel_launches --trace-file TRACE`.

Reads the Chrome trace of `run_pytorch_profiler` (`trace.json`) and the kernel trace of
`rocprofv3 --kernel-trace --output-format csv` (`…_kernel_trace.csv`, columns `Kernel_Name`, `Start_Timestamp` and
`End_Timestamp` in nanoseconds; ROCm documentation, "Using rocprofv3").
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from hipward_kernels.workshop.options import table

if TYPE_CHECKING:
    from collections.abc import Sequence

KERNELS_SHOWN = 20


@dataclass(frozen=True)
class Launch:
    """One kernel that ran; microseconds on the trace's clock."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Launches:
    """All kernels of a trace, in the order in which they began."""

    launches: list[Launch]

    @property
    def busy_us(self) -> float:
        """Time in which at least one kernel ran."""
        busy, until = 0.0, float("-inf")
        for launch in self.launches:
            busy += max(0.0, launch.end - max(launch.start, until))
            until = max(until, launch.end)
        return busy

    @property
    def span_us(self) -> float:
        """From the first beginning to the last end."""
        return max(launch.end for launch in self.launches) - self.launches[0].start

    def report(self) -> str:
        """For people."""
        calls: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for launch in self.launches:
            calls[launch.name] += 1
            total[launch.name] += launch.end - launch.start  # type: ignore[assignment]
        rows = [
            [name[:80], str(calls[name]), f"{time:.1f}", f"{time / calls[name]:.2f}"]
            for name, time in total.most_common(KERNELS_SHOWN)
        ]
        length = median(launch.end - launch.start for launch in self.launches)
        return (
            f"{len(self.launches)} kernels in {self.span_us / 1e3:.3f} ms; the GPU was busy for "
            f"{self.busy_us / self.span_us:.1%} of it and waited for the rest. Half of them took less than "
            f"{length:.2f} µs.\n\n" + table(["kernel", "calls", "µs", "µs a call"], rows)
        )


def read(path: Path) -> Launches:
    """Reads either kind of trace.

    Raises:
        ValueError: It is neither, or no kernel ran.
    """
    try:
        launches = _from_csv(path) if path.suffix == ".csv" else _from_chrome(path)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is neither a Chrome trace nor a kernel trace of rocprofv3: {error!r}") from error
    if not launches:
        raise ValueError(f"{path} has no kernels of a GPU; a trace made on a CPU has operators only")
    return Launches(sorted(launches, key=lambda launch: launch.start))


def _from_csv(path: Path) -> list[Launch]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Launch(row["Kernel_Name"], int(row["Start_Timestamp"]) / 1e3, int(row["End_Timestamp"]) / 1e3)
            for row in csv.DictReader(file)
        ]


def _from_chrome(path: Path) -> list[Launch]:
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return [
        Launch(event["name"], float(event["ts"]), float(event["ts"]) + float(event["dur"]))
        for event in events
        if event.get("cat") == "kernel"
    ]


def main(arguments: Sequence[str] | None = None) -> Launches:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.workshop.analyze_kernel_launches",
        description="Kernel launches and gaps of a trace.",
    )
    parser.add_argument("--trace-file", type=Path, required=True, help="trace.json or …_kernel_trace.csv")
    options = parser.parse_args(arguments)
    try:
        found = read(options.trace_file)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    print(found.report())
    return found


if __name__ == "__main__":
    main()
