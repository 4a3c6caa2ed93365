"""Runs KernelBench problems, unchanged and with default settings, and adds a row for each to a CSV file.

Problems that already have a row for the device are skipped, so that a sweep can be continued. `summary` prints the
share of the problems that ended with a result, and how long they took.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from hipward_kernels.harness.variants import VARIANTS, parse_variants
from hipward_kernels.kernelbench.rows import read, row_of, summary, write
from hipward_kernels.kernelbench.workers import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parents[2] / "results" / "kernelbench.csv"
LEVELS = ("level1", "level2", "level3")


def problems(folder: Path, every: int, first: int, levels: list[str]) -> Iterator[tuple[str, Path]]:
    """Every n-th problem of each level, in order of their numbers: its name, and its file."""
    for level in levels:
        numbered = [
            (int(match[1]), path)
            for path in (folder / level).glob("*.py")
            if (match := re.match(r"(\d+)_", path.name)) is not None
        ]
        for _, path in sorted(numbered)[first::every]:
            yield f"{level}/{path.stem}", path


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.kernelbench", description=__doc__)
    parser.add_argument("--folder", type=Path, help="folder with level1, level2, level3")
    parser.add_argument("--levels", default=",".join(LEVELS), help="comma-separated levels")
    parser.add_argument("--every", type=int, default=1, help="run every n-th problem of a level")
    parser.add_argument("--first", type=int, default=0, help="index of the first problem of a level")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="comma-separated variants")
    parser.add_argument("--time-cap", type=float, default=15.0, help="most seconds of sampling for a variant")
    parser.add_argument("--wall-limit", type=float, default=300.0, help="time limit of a job in seconds")
    parser.add_argument(
        "--memory-limit",
        type=float,
        default=8.0,
        help="memory limit of a job on the CPU in GiB, by default the runner's",
    )
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds after which no job is started")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--again", action="store_true", help="also run problems that have a row")
    options = parser.parse_args()

    rows = read(options.results)
    if options.folder is None:
        print(summary(rows))
        return
    chosen = list(problems(options.folder, options.every, options.first, options.levels.split(",")))
    if not chosen:
        parser.error(f"{options.folder} has no problems")
    variants = parse_variants(options.variants.split(","))
    started = perf_counter()
    # A limit on the host's memory would also count addresses that the driver of a GPU reserves.
    memory_bytes = int(options.memory_limit * 2**30) if options.device == "cpu" else None
    for name, path in chosen:
        done = any(row["problem"] == name and row["id"] == options.device for row in rows)
        if done and not options.again:
            continue
        if perf_counter() - started > options.stop_after:
            print("stopped; run the same command again to continue", file=sys.stderr)
            break
        code = path.read_text(encoding="utf-8")
        # No worker is started during a job, as in the runner: its imports would disturb the timings.
        outcome = Worker(memory_bytes).run(code, options.device, options.time_cap, options.wall_limit, variants)
        row = row_of(name, options.device, outcome)
        rows = [other for other in rows if (other["problem"], other["id"]) != (name, options.device)] + [row]
        write(options.results, rows)
        print(f"{name}: {row['end']} after {row['seconds']} s; {row['times_ms']}; {row['reason']}", flush=True)
    print(summary(rows))


if __name__ == "__main__":
    main()
