"""Launches and the gaps between them, from a trace: `… analyze_kernel_launches --trace-file TRACE`.

Reads the Chrome trace of `run_pytorch_profiler` (`trace.json`), and rocprofv3's kernel trace: its database (`….db`) or
its CSV (`…_kernel_trace.csv`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.profile import rocpd
from hipward_kernels.profile.breakdown import Breakdown, read_trace, table
from hipward_kernels.profile.dispatch import summary
from hipward_kernels.profile.rocprofv3 import read_kernel_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

KERNELS_SHOWN = 20


def read(path: Path) -> Breakdown:
    """Reads any of the three formats.

    Raises:
        ValueError: The file has none of these formats, or contains no kernels.
    """
    try:
        if ".csv" in path.suffixes:
            return summary(read_kernel_trace(path))
        return summary(rocpd.read(path)) if path.suffix == ".db" else read_trace(path)
    except (OSError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read as a trace: {error!r}") from error


def report(found: Breakdown) -> str:
    """The report as text."""
    what = "kernels" if found.on_gpu else "operators"
    return (
        f"{found.launches} {what} in {found.span_ms:.3f} ms; idle for {found.gap_ms:.3f} ms of it\n\n"
        f"{table(found, rows=KERNELS_SHOWN)}"
    )


def main(arguments: Sequence[str] | None = None) -> Breakdown:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.workshop.analyze_kernel_launches",
        description="Kernel launches and gaps of a trace.",
    )
    parser.add_argument("--trace-file", type=Path, required=True, help="trace.json, ….db or …_kernel_trace.csv")
    options = parser.parse_args(arguments)
    try:
        found = read(options.trace_file)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    print(report(found))
    return found


if __name__ == "__main__":
    main()
