"""Command line of exercises: `python -m hipward_kernels.exercise DIR [FILE]`, or `… DIR…`.

With FILE, judges it: exit code 0 if it is solved, 1 if not, 2 if it cannot be checked on this machine.

Without FILE, checks the exercises themselves, which are the folders DIR or are in them, in one batch: start.py must
fail, the solution and `right/` must pass with three seeds, each answer in `wrong/` must fail exactly as its first lines
state, and every hole must be needed. Exit code 1 on an error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.exercise import folder
from hipward_kernels.exercise.batch import Limits, judge_one, new_seed, warm_up
from hipward_kernels.exercise.fixture import check, find

if TYPE_CHECKING:
    from hipward_kernels.exercise.result import Result

_HEADINGS = {
    "solved": "Solved.",
    "not_yet": "Not solved yet.",
    "did_not_load": "The file does not load.",
    "unavailable": "This cannot be checked on this machine.",
    "timeout": "The time limit was reached.",
}
_MARKS = {"passed": "pass", "failed": "FAIL", "unavailable": "none", "not_run": " -- "}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.exercise", description="Judges an answer, or checks exercises."
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="DIR", help="folder of an exercise, or one with several")
    # A second argument of `nargs="?"` cannot follow several folders, so the last path is the answer if it is a file.
    parser.usage = "python -m hipward_kernels.exercise [options] DIR [FILE] | DIR…"
    parser.add_argument("--seed", type=int, help="seed of the values (default: a new one; 1 for a check)")
    parser.add_argument("--json", action="store_true", help="print JSON lines; see result.py and fixture.py")
    parser.add_argument(
        "--seconds", type=float, help=f"time limit of an answer (default: {Limits.seconds:g}; in a check 60)"
    )
    parser.add_argument("--memory", type=int, default=Limits.memory_mb, help="memory of an answer in MB (%(default)s)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="answers at the same time, in a check"
    )
    options = parser.parse_args()
    paths: list[Path] = options.paths
    file = None if paths[-1].is_dir() else paths.pop()
    if file and (len(paths) != 1 or not file.is_file()):
        parser.error(f"{file} is not a file" if paths else f"{file} is not a folder")
    folders = [found for path in paths for found in find(path.resolve())]
    if not folders:
        parser.error(f"{paths[0]} contains no judge.py")
    # A check may run beside other work of a build machine.
    limits = Limits(options.seconds or (60.0 if file is None else Limits.seconds), options.memory)
    if file is None:
        sys.exit(_check(folders, options.seed or 1, limits, options.processes, as_json=options.json))
    if len(folders) > 1:
        parser.error(f"{paths[0]} contains several exercises; pass the folder of one")
    try:
        exercise = folder.read(folders[0])
    except folder.ExerciseError as error:
        parser.error(str(error))
    warm_up()
    seed = new_seed() if options.seed is None else options.seed
    result = judge_one(exercise, file.resolve(), seed, limits)
    print(json.dumps(asdict(result)) if options.json else report(result, exercise.suffix))
    sys.exit({"solved": 0, "unavailable": 2}.get(result.status, 1))


def _check(folders: list[Path], seed: int, limits: Limits, processes: int, *, as_json: bool) -> int:
    warm_up(compiler=True)
    failed = False
    for result in check(folders, seed, limits, max(1, processes)):
        failed |= bool(result.errors)
        if as_json:
            print(json.dumps(asdict(result)), flush=True)
            continue
        place = os.path.relpath(result.folder)
        print(
            f"{'error' if result.errors else 'ok':5} {place}: {result.answers} answers, {result.seconds:.1f} s",
            flush=True,
        )
        for line in result.errors:
            print(f"      {line}")
        for line in result.unavailable:
            print(f"      not checked here: {line}")
    return int(failed)


def report(result: Result, suffix: str) -> str:
    """A result as text. `suffix` is that of the answer's file."""
    lines = []
    heading = _HEADINGS[result.status]
    if result.status == "did_not_load" and suffix == folder.HIP:
        heading = "The file does not compile."
    for case in result.cases:
        if result.status == "did_not_load":
            break
        lines.append(f"  {_MARKS[case.status]}  {case.title}")
        if case.message:
            lines.append(f"        {f'line {case.line}: ' if case.line else ''}{case.message}")
        lines += [f"        - {f'line {note.line}: ' if note.line else ''}{note.message}" for note in case.notes]
    lines.append(heading)
    if result.message:
        lines.append(f"  {f'line {result.line}: ' if result.line else ''}{result.message}")
    lines += [f"  Hint: {hint}" for hint in result.hints]
    if result.unfilled:
        lines.append(f"  Holes that are not filled in yet: {', '.join(result.unfilled)}")
    if result.output:
        lines += ["Output:", *(f"  {line}" for line in result.output.splitlines())]
        if result.output_truncated:
            lines.append("  …")
    if result.status not in {"solved", "did_not_load"}:
        lines.append(f"To repeat with the same values: --seed {result.seed}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
