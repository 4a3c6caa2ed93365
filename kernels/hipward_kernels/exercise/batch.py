"""Runs answers, each in its own process, which is forked from this one after PyTorch has been imported.

The answer's process writes its lines to a pipe. This process computes the result from them: it knows the cases of the
judge, ends the process at the time limit, and requires every case's line and the controls.

An answer shares a process with the judge, so it could replace the functions that the judge compares with, and an answer
that writes to the pipe itself can forge lines. Therefore a case that passes is not sufficient. The same process then
runs the case on *controls*: wrong answers of the exercise that must fail it. If the judge now accepts them, the
verdict is not `solved`. This detects replaced comparisons; cases that no wrong answer fails are not protected. It does
not detect code that finds the pipe and writes every line itself: nothing can within one process, and a judge in another
process could not call the answer's functions with tensors and inspect its modules. The results are for the learner. Do
not base a grade on them.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import random
import selectors
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipward_kernels.exercise import attempt
from hipward_kernels.exercise.folder import HIP
from hipward_kernels.exercise.result import (
    MESSAGE_LIMIT,
    MOST_NOTES,
    OUTPUT_LIMIT,
    Case,
    CaseStatus,
    Note,
    Result,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hipward_kernels.exercise.folder import Exercise

COMPILE_SECONDS = 10.0
"""Time that a HIP answer has in addition, for its compilation."""

LINES_LIMIT = 1 << 20
"""Bytes that a process may write to its pipe."""


@dataclass(frozen=True)
class Limits:
    """Limits of one answer."""

    seconds: float = 10.0
    """Wall time for importing the judge and the answer, and for all cases."""
    memory_mb: int = 2048
    """Memory that the answer may allocate."""


@dataclass(frozen=True)
class Task:
    """One answer that is to be judged."""

    exercise: Exercise
    answer: Path
    seed: int


def warm_up(*, compiler: bool = False) -> None:
    """Imports what judges and answers use. No thread pool is started, because a forked process has no threads.

    Args:
        compiler: Also import what torch.compile uses, which takes 1 s. It is of use to a batch with many answers.
    """
    # Read when `triton.language` is imported: kernels run in Triton's interpreter, on the CPU.
    os.environ["TRITON_INTERPRET"] = "1"
    # Threads compete for the cores of a small host and make times vary; sizes of exercises are small.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # PyTorch imports Dynamo at the first use of many functions, which would take seconds in each forked process.
    for name in ("torch", "torch._dynamo", "numpy", "triton", "triton.language"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        if "triton" in sys.modules:
            # The first launch imports more of Triton, which would take 0.2 s in the process of each case.
            tiny = importlib.import_module("hipward_kernels.compile.tiny")
            tiny.tiny_kernel[(1,)](torch.zeros(4), BLOCK=4)
        if compiler:
            # The same for the first graph: 1 s.
            torch.compile(torch.nn.Identity(), backend="eager")(torch.zeros(1))
            torch.compiler.reset()
    # A collection in a forked process would write to, and so copy, the memory of all objects that were imported.
    gc.collect()
    gc.freeze()
    # Otherwise extension modules report leaks at the exit.
    atexit.register(gc.unfreeze)


def judge_one(exercise: Exercise, answer: Path, seed: int, limits: Limits | None = None) -> Result:
    """The result of one answer."""
    return next(judge(iter([Task(exercise, answer, seed)]), limits))[1]


def judge(
    tasks: Iterable[Task], limits: Limits | None = None, processes: int = 1, headers: Path | None = None
) -> Iterator[tuple[Task, Result]]:
    """The results of answers, in the order in which they end.

    Args:
        tasks: The answers.
        limits: The limits of each.
        processes: How many run at the same time.
        headers: A folder with precompiled headers for HIP answers (`compile/headers.py`).
    """
    limits = limits or Limits()
    waiting = iter(tasks)
    running: list[_Process] = []
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        stack.callback(lambda: [process.end(selector) for process in running])
        while True:
            while len(running) < processes and (task := next(waiting, None)):
                running.append(_Process.start(task, limits, headers, selector))
            if not running:
                return
            wait = max(0.0, min(process.deadline for process in running) - time.monotonic())
            for key, _ in selector.select(min(wait, 0.1)):
                key.data()
            for process in [process for process in running if process.has_ended()]:
                running.remove(process)
                yield process.task, process.end(selector)


def new_seed() -> int:
    """A seed for a run."""
    return random.SystemRandom().getrandbits(32)


@dataclass
class _Process:
    """A running answer."""

    task: Task
    pid: int
    lines: int
    """Descriptor of the pipe with the lines."""
    output: int
    """Descriptor of the pipe with what the answer prints."""
    directory: Path
    controls: dict[str, list[Path]]
    started: float
    deadline: float
    text: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    exit_status: int | None = None
    closed: bool = False

    @staticmethod
    def start(task: Task, limits: Limits, headers: Path | None, selector: selectors.BaseSelector) -> _Process:
        """Forks a process for a task."""
        controls = _controls(task.exercise)
        directory = Path(tempfile.mkdtemp(prefix="hipward-exercise-"))
        (lines, lines_end), (output, output_end) = os.pipe(), os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            try:
                attempt.enter(output_end, lines_end, directory, limits.memory_mb)
                attempt.run(
                    task.exercise, task.answer, task.seed, controls, headers, lambda data: _write(lines_end, data)
                )
            finally:
                os._exit(0)
        os.close(lines_end)
        os.close(output_end)
        with contextlib.suppress(OSError):
            # The child does the same; whichever is first. Afterwards the group can be ended.
            os.setpgid(pid, pid)
        deadline = started + limits.seconds + (COMPILE_SECONDS if task.exercise.suffix == HIP else 0)
        process = _Process(task, pid, lines, output, directory, controls, started, deadline)
        selector.register(lines, selectors.EVENT_READ, process.read_lines)
        selector.register(output, selectors.EVENT_READ, process.read_output)
        os.set_blocking(lines, False)
        os.set_blocking(output, False)
        return process

    def read_lines(self) -> None:
        """Reads what is in the pipe."""
        data = _read(self.lines)
        self.closed |= data == b""
        self.text += data or b""

    def read_output(self) -> None:
        """Reads what the answer printed and stores its beginning."""
        data = _read(self.output) or b""
        room = OUTPUT_LIMIT - len(self.printed)
        self.printed += data[:room]
        self.truncated |= len(data) > room

    def has_ended(self) -> bool:
        """Whether the process has ended, has sent its last line, or must be stopped."""
        if self.exit_status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_status = status
        return (
            self.exit_status is not None
            or self.closed
            or self.text.endswith(b'{"step":"end"}\n')
            or len(self.text) > LINES_LIMIT
            or time.monotonic() >= self.deadline
        )

    def end(self, selector: selectors.BaseSelector) -> Result:
        """Ends the process with those that it started, and computes the result."""
        stopped = time.monotonic() >= self.deadline and self.exit_status is None
        if self.closed and self.exit_status is None:
            # The process closed its pipe: it is about to exit. Its exit status is worth a moment.
            self._wait(time.monotonic() + 1)
        for fd in (self.lines, self.output):
            selector.unregister(fd)
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        # A sandbox may refuse the signal; the runner then ends the processes with the worker.
        self._wait(time.monotonic() + 1)
        # What was written before the end is still in the pipes.
        while (data := _read(self.lines)) and len(self.text) <= LINES_LIMIT:
            self.text += data
        self.read_output()
        os.close(self.lines)
        os.close(self.output)
        shutil.rmtree(self.directory, ignore_errors=True)
        return self._result(stopped=stopped)

    def _wait(self, until: float) -> None:
        while self.exit_status is None and time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_status = status
            else:
                time.sleep(0.002)

    def _result(self, *, stopped: bool) -> Result:
        log = _Log(self.task.exercise, self.controls)
        for line in bytes(self.text[:LINES_LIMIT]).splitlines():
            try:
                log.add(json.loads(line))
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                log.invalid = True
        exercise = self.task.exercise
        result = log.result(self.deadline - self.started if stopped else None)
        return replace(
            result,
            hints=exercise.hints(set(result.failed)) if result.status == "not_yet" and result.failed else [],
            unfilled=exercise.unfilled(_text(self.task.answer)) if result.status != "solved" else [],
            output=self.printed.decode("utf-8", "replace"),
            output_truncated=self.truncated,
            seconds=round(time.monotonic() - self.started, 3),
            seed=self.task.seed,
            judge=exercise.judge_hash,
        )


class _Log:
    """The lines of one answer's processes, checked in order."""

    def __init__(self, exercise: Exercise, controls: dict[str, list[Path]]) -> None:
        self.cases = [Case(name, title) for name, title in exercise.cases]
        self.loading = "compiled" if exercise.suffix == HIP else "imported"
        """What happens to a file before its first case."""
        self.controls = controls
        self.judge: tuple[str, str | None] | None = None
        self.not_loaded: tuple[str, int | None] | None = None
        """Why the answer did not load in the first case."""
        self.position = 0
        """Index of the current case."""
        self.step: str | None = None
        """The last line of the current case."""
        self.accepted: list[str] = []
        """Titles of the cases that accepted a control."""
        self.complete = False
        self.invalid = False

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line; one that does not fit what came before it makes the log invalid."""
        step = line["step"]
        previous, self.step = self.step, step
        if step == "judge" and self.judge is None:
            self.judge, self.step = (line["status"], _words(line["message"])), None
        elif step == "begin" and self.judge and previous is None and line["case"] == self._current().name:
            pass
        elif step == "answer" and previous == "begin":
            self._answer(_words(line["message"]), _number(line["line"]))
        elif step == "case" and previous == "answer" and line["status"] in {"passed", "failed", "unavailable"}:
            self._set(line["status"], _words(line["message"]), _number(line["line"]), _notes(line["notes"]))
        elif step == "control" and previous == "case" and self._expects_control():
            if line["status"] != "failed":
                self.accepted.append(self._current().title)
        elif step == "ended" and previous and line["case"] == self._current().name:
            self._ended(previous, _words(line["reason"]))
            self.position, self.step = self.position + 1, None
        elif step == "end" and previous is None and not self.complete:
            self.complete = True
        else:
            self.invalid = True

    def _current(self) -> Case:
        return self.cases[self.position]

    def _expects_control(self) -> bool:
        return self._current().status == "passed" and self._current().name in self.controls

    def _set(self, status: CaseStatus, message: str | None, line: int | None, notes: Iterable[Note] = ()) -> None:
        self.cases[self.position] = replace(
            self._current(), status=status, message=message, line=line, notes=list(notes)
        )

    def _answer(self, message: str | None, line: int | None) -> None:
        """The answer was loaded, or not."""
        if message is None:
            return
        if self.position == 0:
            self.not_loaded = message, line
        else:
            self._set("failed", message, line)

    def _ended(self, previous: str, reason: str | None) -> None:
        """The process of the current case has ended after the line `previous`."""
        how = reason or "exit code 0"
        if reason in {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"}:
            how += ". An access outside of a tensor's memory can cause this: check offsets and masks"
        if previous == "begin" and self.position == 0:
            self.not_loaded = f"The process ended while the file was {self.loading} ({how}).", None
        elif self._current().status == "not_run" and not self.not_loaded:
            self._set("failed", f"The process ended before the case did ({how}).", None)
        elif previous == "case" and self._expects_control() and reason is None:
            # The control neither reported a status nor crashed.
            self.invalid = True

    def result(self, timeout: float | None) -> Result:
        """The result without the fields that the owner of the processes knows."""
        status, message, line = self._status(timeout)
        return Result(status=status, cases=self.cases, message=message, line=line)

    def _status(self, timeout: float | None) -> tuple[Status, str | None, int | None]:
        if self.judge and self.judge[0] != "loaded":
            kind = "" if self.judge[0] == "unavailable" else "The judge does not load; this is an error of the lesson. "
            return "unavailable", f"{kind}{self.judge[1] or ''}", None
        if self.not_loaded:
            return "did_not_load", *self.not_loaded
        if timeout is not None and not self.complete:
            return "timeout", f"No result after {timeout:g} s, {self._while()}. A loop may not end.", None
        if self.complete and not self.invalid and any(case.status == "failed" for case in self.cases):
            return "not_yet", None, None
        if problem := self._problem():
            return "not_yet", problem, None
        missing = next((case for case in self.cases if case.status == "unavailable"), None)
        return ("unavailable", missing.message, None) if missing else ("solved", None, None)

    def _problem(self) -> str | None:
        """Why the cases' results prove nothing."""
        if self.invalid:
            return "The judge's lines are not valid: the file wrote to the judge's pipe. Remove that."
        if not self.complete:
            return f"The judge's process ended early, {self._while()}. Remove what ends other processes."
        if not self.accepted:
            return None
        return (
            "After this file ran, the judge accepts an answer that is known to be wrong"
            f" ({', '.join(self.accepted)}). Do not replace functions of PyTorch or of the judge; undo what the file "
            "changes globally."
        )

    def _while(self) -> str:
        if self.judge is None:
            return "while the judge was imported"
        if self.step == "begin" and self.position == 0:
            return f"while the file was {self.loading}"
        return f"in the case “{self._current().title}”" if self.position < len(self.cases) else "after the last case"


def _controls(exercise: Exercise) -> dict[str, list[Path]]:
    """For each case that a wrong answer fails, these answers in random order."""
    found: dict[str, list[Path]] = {}
    if exercise.suffix == HIP:
        # The emulator executes the answer, which therefore cannot change the judge.
        return found
    for wrong in exercise.wrong:
        for name in wrong.fails:
            found.setdefault(name, []).append(wrong.path)
    for paths in found.values():
        random.SystemRandom().shuffle(paths)
    return found


def _read(fd: int) -> bytes | None:
    """What is in a pipe; empty at its end, None if there is nothing yet."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _words(value: Any) -> str | None:
    return value[:MESSAGE_LIMIT] if isinstance(value, str) else None


def _notes(value: Any) -> list[Note]:
    return [Note(_number(note["line"]), note["message"][:MESSAGE_LIMIT]) for note in value[:MOST_NOTES]]


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
