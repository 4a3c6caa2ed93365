"""Runs answers, each in its own process, which is forked from this one after PyTorch has been imported.

The answer's process writes its lines to a pipe. This process computes the result from them: it knows the cases of the
judge, ends the process at the time limit, and requires every case's line and the controls.

An answer shares its process with the judge, so it could replace the functions that the judge compares with, and an
answer that writes to the pipe itself can forge lines. Therefore lines that report success are not sufficient. After all
cases have passed, the same process runs *controls*: wrong answers of the exercise, one for each case that has one. If
the judge now accepts a wrong answer, the verdict is not `solved`. This detects replaced comparisons, and it makes a
forged verdict require the names of the cases that have controls. It does not detect code that reads these names and
writes each line itself: nothing can within one process, and a judge in another process could not call the answer's
functions with tensors and inspect its modules. The results are for the learner. Do not base a grade on them.
"""

from __future__ import annotations

import contextlib
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
from hipward_kernels.exercise.result import MESSAGE_LIMIT, OUTPUT_LIMIT, Case, Result, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hipward_kernels.exercise.folder import Exercise

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


def warm_up() -> None:
    """Imports what judges and answers use. No thread pool is started, because a forked process has no threads."""
    # Read when `triton.language` is imported: kernels run in Triton's interpreter, on the CPU.
    os.environ["TRITON_INTERPRET"] = "1"
    # Threads compete for the cores of a small host and make times vary; sizes of exercises are small.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in ("torch", "numpy", "triton", "triton.language"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def judge_one(exercise: Exercise, answer: Path, seed: int, limits: Limits | None = None) -> Result:
    """The result of one answer."""
    return next(judge(iter([Task(exercise, answer, seed)]), limits))[1]


def judge(tasks: Iterable[Task], limits: Limits | None = None, processes: int = 1) -> Iterator[tuple[Task, Result]]:
    """The results of answers, in the order in which they end.

    Args:
        tasks: The answers.
        limits: The limits of each.
        processes: How many run at the same time.
    """
    limits = limits or Limits()
    waiting = iter(tasks)
    running: list[_Process] = []
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        stack.callback(lambda: [process.end(selector) for process in running])
        while True:
            while len(running) < processes and (task := next(waiting, None)):
                running.append(_Process.start(task, limits, selector))
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
    controls: list[tuple[str, Path]]
    limits: Limits
    started: float
    deadline: float
    text: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    exit_status: int | None = None
    closed: bool = False

    @staticmethod
    def start(task: Task, limits: Limits, selector: selectors.BaseSelector) -> _Process:
        """Forks a process for a task."""
        controls = _controls(task.exercise)
        random.SystemRandom().shuffle(controls)
        directory = Path(tempfile.mkdtemp(prefix="hipward-exercise-"))
        (lines, lines_end), (output, output_end) = os.pipe(), os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            try:
                attempt.enter(output_end, lines_end, directory, limits.memory_mb)
                attempt.run(task.exercise, task.answer, task.seed, controls, lambda data: _write(lines_end, data))
            finally:
                os._exit(0)
        os.close(lines_end)
        os.close(output_end)
        with contextlib.suppress(OSError):
            # The child does the same; whichever is first. Afterwards the group can be ended.
            os.setpgid(pid, pid)
        process = _Process(task, pid, lines, output, directory, controls, limits, started, started + limits.seconds)
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
        if self.exit_status is None:
            self.exit_status = os.waitpid(self.pid, 0)[1]
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
            except (ValueError, TypeError, KeyError, AttributeError):
                log.invalid = True
        exercise = self.task.exercise
        result = log.result(_ended(self.exit_status), self.limits.seconds if stopped else None)
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
    """The lines of one process, checked in order."""

    def __init__(self, exercise: Exercise, controls: list[tuple[str, Path]]) -> None:
        self.cases = [Case(name, title) for name, title in exercise.cases]
        self.controls = [name for name, _ in controls]
        self.judge: tuple[str, str | None] | None = None
        self.answer: tuple[str | None, int | None] | None = None
        self.current: str | None = None
        self.judged = 0
        self.accepted: list[str] = []
        """Cases that accepted a control."""
        self.controlled = 0
        self.complete = False
        self.invalid = False

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line; one that does not fit what came before it makes the log invalid."""
        step = line["step"]
        if step == "judge" and self.judge is None:
            self.judge = line["status"], _words(line["message"])
        elif step == "answer" and self.judge and self.answer is None:
            self.answer = _words(line["message"]), _number(line["line"])
        elif step == "begin" and self.answer and self.current is None and line["case"] == self._next():
            self.current = line["case"]
        elif step == "case" and line["case"] == self.current and line["status"] in {"passed", "failed", "unavailable"}:
            self.cases[self.judged] = replace(
                self.cases[self.judged],
                status=line["status"],
                message=_words(line["message"]),
                line=_number(line["line"]),
            )
            self.judged += 1
            self.current = None
        elif step == "control" and self._next() is None and line["case"] == self.controls[self.controlled]:
            self.controlled += 1
            if line["status"] == "passed":
                self.accepted.append(line["case"])
        elif step == "end" and self.answer and self._next() is None and not self.complete:
            self.complete = True
        else:
            self.invalid = True

    def _next(self) -> str | None:
        return self.cases[self.judged].name if self.judged < len(self.cases) else None

    def result(self, exit_reason: str | None, timeout: float | None) -> Result:
        """The result without the fields that the process's owner knows."""
        status, message, line = self._status(exit_reason, timeout)
        return Result(status=status, cases=self.cases, message=message, line=line)

    def _status(self, exit_reason: str | None, timeout: float | None) -> tuple[Status, str | None, int | None]:
        if self.judge and self.judge[0] != "loaded":
            kind = "" if self.judge[0] == "unavailable" else "The judge does not load; this is an error of the lesson. "
            return "unavailable", f"{kind}{self.judge[1] or ''}", None
        if self.answer and self.answer[0]:
            return "did_not_load", *self.answer
        if timeout is not None and not self.complete:
            return "timeout", f"No result after {timeout:g} s, {self._while()}. A loop may not end.", None
        if self._next() is None and any(case.status == "failed" for case in self.cases):
            return "not_yet", None, None
        if problem := self._problem(exit_reason):
            return "not_yet" if self.answer else "did_not_load", problem, None
        missing = next((case for case in self.cases if case.status == "unavailable"), None)
        return ("unavailable", missing.message, None) if missing else ("solved", None, None)

    def _problem(self, exit_reason: str | None) -> str | None:
        """Why the lines prove nothing, although no case failed."""
        if self.invalid:
            return "The judge's lines are not valid: the file wrote to the judge's pipe. Remove that."
        if not self.complete:
            return f"The process ended early{f' ({exit_reason})' if exit_reason else ''}, {self._while()}."
        if not self.accepted and self.controlled == len(self.controls):
            return None
        titles = ", ".join(case.title for case in self.cases if case.name in self.accepted)
        return (
            f"After this file ran, the judge accepts an answer that is known to be wrong{titles and f' ({titles})'}. "
            "Do not replace functions of PyTorch or of the judge; undo what the file changes globally."
        )

    def _while(self) -> str:
        if self.answer is None:
            return "while the file was imported" if self.judge else "while the judge was imported"
        title = next((case.title for case in self.cases if case.name == self.current), None)
        return f"in the case “{title}”" if title else "after the last case"


def _controls(exercise: Exercise) -> list[tuple[str, Path]]:
    """For each case that a wrong answer fails, the case and that answer."""
    found = {name: wrong.path for wrong in exercise.wrong for name in sorted(wrong.fails)}
    return [(name, found[name]) for name, _ in exercise.cases if name in found]


def _ended(status: int | None) -> str | None:
    """Why a process ended, unless it ended by itself without an error."""
    if status is None or status == 0:
        return None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return "killed, possibly for its memory"
        try:
            return signal.Signals(number).name
        except ValueError:
            return f"signal {number}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


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


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
