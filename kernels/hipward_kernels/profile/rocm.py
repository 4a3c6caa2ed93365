"""Runs a profiler of ROCm on a program: `python -m hipward_kernels.profile.rocm {kernels,timeline,counters,roofline}`.

    python -m hipward_kernels.profile.rocm kernels --hip-trace -- python train.py
    python -m hipward_kernels.profile.rocm roofline --output profiles -- python train.py

* `kernels`: rocprofv3. Time by kernel and the gaps between kernels; with `--hip-trace`, also time of the host in calls
  of the HIP runtime, such as launches and synchronization.
* `timeline`: rocprof-sys. The longest functions of the host, and a trace for https://ui.perfetto.dev.
* `counters`: rocprof-compute. Every hardware counter of the longest kernels; runs the program many times.
* `roofline`: rocprof-compute. The measured bandwidths and peak rates of the GPU, and its plot with the kernels.

`--print` prints the command line of the tool and does not run it; `--read` reads the output of an earlier run. Neither
needs ROCm.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.measure.subject import at_least
from hipward_kernels.profile import rocprof_compute, rocprof_sys, rocprofv3
from hipward_kernels.profile.breakdown import table
from hipward_kernels.profile.dispatch import summary
from hipward_kernels.profile.tool import ToolFailedError, ToolMissingError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 15
"""Rows of a table."""

KINDS = ("kernels", "timeline", "counters", "roofline")


def command(options: argparse.Namespace) -> list[str]:
    """The command line of the tool."""
    if options.kind == "kernels":
        return rocprofv3.command(options.program, options.output, counters=options.pmc, hip_trace=options.hip_trace)
    if options.kind == "timeline":
        return rocprof_sys.command(options.program)
    return rocprof_compute.profile_command(
        options.program, options.kind, options.output, roofline_only=options.kind == "roofline"
    )


def report(kind: str, output: Path) -> str:
    """A summary of what a tool wrote to `output`, as Markdown.

    Raises:
        ValueError: There is nothing that can be read.
    """
    if kind == "kernels":
        calls = rocprofv3.read_hip_calls(output)
        kernels = table(summary(rocprofv3.read(output)))
        return f"{kernels}\n{_hip_table(calls)}" if calls else kernels
    if kind == "timeline":
        return _timeline(output)
    if kind == "counters":
        return _counters(rocprof_compute.read(output / kind))
    return _roofline(output / kind)


def _table(header: str, rows: Sequence[str]) -> str:
    names = header.split("|")[1:-1]
    rule = "|".join(" --- " if index == 0 else " ---: " for index in range(len(names)))
    return "\n".join([header, f"|{rule}|", *rows[:LONGEST]]) + "\n"


def _hip_table(calls: Sequence[rocprofv3.HipCall]) -> str:
    times: dict[str, list[int]] = defaultdict(list)
    for call in calls:
        times[call.name].append(call.end_ns - call.start_ns)
    longest = sorted(times.items(), key=lambda item: -sum(item[1]))
    rows = [f"| {name} | {sum(ns) / 1e6:.3f} | {len(ns)} | {sum(ns) / len(ns) / 1e3:.1f} |" for name, ns in longest]
    return _table("| HIP call | ms | calls | µs each |", rows)


def _timeline(output: Path) -> str:
    found = [*output.rglob("wall-clock*.json"), *output.rglob("wall_clock*.json")]
    if not found:
        raise ValueError(f"rocprof-sys left no wall-clock times in {output}")
    regions = sorted(rocprof_sys.read_wall_clock(min(found)), key=lambda region: -region.seconds)
    rows = [f"| {region.name} | {region.seconds * 1e3:.3f} | {region.calls} |" for region in regions]
    traces = "".join(f"\nTrace: {path}" for path in rocprof_sys.traces(output))
    return f"{_table('| function | ms | calls |', rows)}{traces}"


def _counters(counters: Sequence[rocprof_compute.Counters]) -> str:
    longest = sorted(counters, key=lambda one: -one.ns)
    rows = [
        f"| {one.kernel} (dispatch {one.dispatch}) | {one.ns / 1e3:.1f} | "
        f"{', '.join(f'{name} {value:g}' for name, value in sorted(one.values.items()))} |"
        for one in longest
    ]
    return _table("| kernel | µs | counters |", rows)


def _roofline(workload: Path) -> str:
    rows = [
        f"| {name} | {peak.value / 1e3:.2f} {peak.unit} |"
        for peaks in rocprof_compute.read_roofline(workload)
        for name, peak in peaks.items()
    ]
    plots = sorted([*workload.rglob("empirRoof*"), *workload.rglob("*roofline*.html"), *workload.rglob("*roof*.pdf")])
    header = "| measured limit | |"
    return "\n".join([header, "| --- | ---: |", *rows, *(f"\nPlot: {path}" for path in dict.fromkeys(plots))])


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.profile.rocm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument(
        "--output", type=Path, default=Path("profiles"), help="where the tool writes (default: profiles)"
    )
    parser.add_argument("--hip-trace", action="store_true", help="kernels: also record calls of the HIP runtime")
    parser.add_argument("--pmc", nargs="+", default=[], metavar="NAME", help="kernels: hardware counters to record")
    parser.add_argument("--seconds", type=at_least(1), help="time limit of the tool")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--print", action="store_true", help="print the command line and do not run it")
    only.add_argument("--read", action="store_true", help="read the output of an earlier run")
    words = list(sys.argv[1:] if arguments is None else arguments)
    mine, separator, program = words, "", list[str]()
    if "--" in words:
        at = words.index("--")
        mine, separator, program = words[:at], "--", words[at + 1 :]
    options = parser.parse_args(mine)
    options.program = program
    if not program and not options.read:
        parser.error("name the program after --, such as: -- python train.py")
    if separator and options.read:
        parser.error("--read runs no program")
    if options.kind != "kernels" and (options.hip_trace or options.pmc):
        parser.error("--hip-trace and --pmc are options of kernels")
    if options.print:
        print(shlex.join(command(options)))
        return
    try:
        if not options.read:
            options.output.mkdir(parents=True, exist_ok=True)
            variables = rocprof_sys.variables(options.output) if options.kind == "timeline" else None
            limit = {"kernels": rocprofv3.SECONDS, "timeline": rocprof_sys.SECONDS}
            seconds = options.seconds or limit.get(options.kind, rocprof_compute.SECONDS)
            run(command(options), seconds=seconds, variables=variables)
        print(report(options.kind, options.output))
    except (ToolMissingError, ToolFailedError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
