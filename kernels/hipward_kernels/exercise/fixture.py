"""Checks an exercise itself: its judge accepts every right answer and refuses every wrong one, for the stated cases."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.compile import headers as compile_headers
from hipward_kernels.exercise import folder
from hipward_kernels.exercise.batch import Limits, Task, judge
from hipward_kernels.exercise.folder import ARCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hipward_kernels.exercise.folder import Exercise
    from hipward_kernels.exercise.result import Result

SEEDS = 3
"""How many seeds each correct answer must pass."""


@dataclass
class Check:
    """The check of one exercise."""

    folder: str
    answers: int = 0
    """How many answers were judged."""
    errors: list[str] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)
    """Reasons why answers could not be judged on this machine."""
    seconds: float = 0.0
    """Sum of the answers' times."""
    slowest: float = 0.0
    """Time of the slowest answer."""


def find(root: Path) -> list[Path]:
    """The folders of exercises in `root`, or `root` itself if it is one."""
    if (root / "judge.py").is_file():
        return [root]
    return sorted(path.parent for path in root.rglob("judge.py"))


def check(folders: list[Path], seed: int, limits: Limits, processes: int) -> Iterator[Check]:
    """Checks exercises in one batch; yields each when its last answer has been judged."""
    with tempfile.TemporaryDirectory(prefix="hipward-exercises-") as scratch:
        checks: dict[Path, Check] = {}
        expectations: dict[Task, Callable[[Result], str | None]] = {}
        for position, path in enumerate(folders):
            result = checks[path] = Check(str(path))
            directory = Path(scratch) / str(position)
            directory.mkdir()
            try:
                exercise = folder.read(path)
                planned = dict(_plan(exercise, seed, directory))
            except folder.ExerciseError as error:
                result.errors.append(str(error))
                yield result
                continue
            result.answers = len(planned)
            expectations |= planned
        left = {path: result.answers for path, result in checks.items()}
        headers = Path(scratch) / "headers"
        headers.mkdir()
        if any(task.exercise.suffix == folder.HIP for task in expectations):
            compile_headers.parse(headers, (ARCH,))
        for task, judged in judge(list(expectations), limits, processes, headers):
            path = task.exercise.folder
            result = checks[path]
            _record(result, task, judged, expectations[task])
            left[path] -= 1
            if not left[path]:
                result.errors.sort()
                yield result


def _record(check: Check, task: Task, result: Result, expectation: Callable[[Result], str | None]) -> None:
    check.seconds = round(check.seconds + result.seconds, 3)
    check.slowest = max(check.slowest, result.seconds)
    name = _name(task)
    if result.status == "unavailable":
        reason = f"{name}: {result.message}"
        (check.errors if "error of the lesson" in str(result.message) else check.unavailable).append(reason)
    elif problem := expectation(result):
        check.errors.append(f"{name} (seed {task.seed}): {problem}")


def _name(task: Task) -> str:
    try:
        return str(task.answer.relative_to(task.exercise.folder))
    except ValueError:
        return task.answer.stem


def _plan(exercise: Exercise, seed: int, scratch: Path) -> Iterator[tuple[Task, Callable[[Result], str | None]]]:
    yield Task(exercise, exercise.start, seed), _starts
    for correct in (exercise.solution, *exercise.right):
        # Most of the time of a HIP answer is its compilation.
        for offset in range(1 if exercise.suffix == folder.HIP else SEEDS):
            yield Task(exercise, correct, seed + offset), _solved
    for wrong in exercise.wrong:
        yield Task(exercise, wrong.path, seed), _fails_in(wrong.fails)
    start = exercise.start.read_text(encoding="utf-8")
    filled = folder.filled_holes(start, exercise.solution.read_text(encoding="utf-8"), exercise.suffix)
    for name in filled:
        text = start
        for other, content in filled.items():
            text = text if other == name else folder.with_hole(text, other, content)
        emptied = scratch / f"solution with the hole {name} of the start.{exercise.suffix}"
        emptied.write_text(text, encoding="utf-8")
        yield Task(exercise, emptied, seed), _refused


def _starts(result: Result) -> str | None:
    if result.status == "solved":
        return "passes every case; it must fail at least one"
    return None if result.status == "not_yet" else f"must load and fail a case: {_describe(result)}"


def _solved(result: Result) -> str | None:
    return None if result.status == "solved" else f"must pass: {_describe(result)}"


def _refused(result: Result) -> str | None:
    return "passes every case; the hole is not needed" if result.status == "solved" else None


def _fails_in(cases: frozenset[str]) -> Callable[[Result], str | None]:
    def expectation(result: Result) -> str | None:
        if result.status == "not_yet" and set(result.failed) == cases and not result.message:
            return None
        return f"must fail exactly in {', '.join(sorted(cases))}: {_describe(result)}"

    return expectation


def _describe(result: Result) -> str:
    parts = [f"{case.name}: {case.message}" for case in result.cases if case.status == "failed"]
    if result.message:
        parts.insert(0, f"line {result.line}: {result.message}" if result.line else result.message)
    return "; ".join([result.status, *parts])
