"""The processes of one answer: they load the judge and the answer, run the cases, and write JSON lines."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import itertools
import json
import os
import random
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipward_kernels.exercise.assertions import ExpectationError, Unavailable
from hipward_kernels.exercise.folder import HIP
from hipward_kernels.exercise.result import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from hipward_kernels.exercise.folder import Exercise
    from hipward_kernels.exercise.kernel import Kernel

ANSWER = "answer"
"""Name of the learner's module."""

_LIBRARIES = ("torch", "triton", "numpy", "transformers", "hipward_kernels")
"""A judge that cannot import one of these is unavailable; any other missing module is an error of its author."""


CONTROL_RUNS = 20
"""Runs of wrong answers that a case must accept before it counts as changed by the answer."""

NOT_LOADED = 3
"""Exit code of a case's process if the answer did not load."""


def run(
    exercise: Exercise,
    answer: Path,
    seed: int,
    controls: dict[str, list[Path]],
    headers: Path | None,
    write: Callable[[bytes], None],
) -> None:
    """Judges an answer: this process loads the judge and forks one for each case, which loads the answer.

    A case has a process of its own because an answer can corrupt memory: Triton's interpreter loads from and stores to
    the addresses that the kernel computes. A HIP answer is compiled once, in this process, and runs in the emulator.

    Args:
        exercise: The exercise.
        answer: The learner's file.
        seed: Seed of the cases' values.
        controls: Wrong answers, by the case that they must fail.
        headers: HIP: a folder with precompiled headers, if there is one.
        write: Receives the lines.
    """
    encode = json.JSONEncoder(separators=(",", ":")).encode

    def tell(step: str, **fields: Any) -> None:
        write(encode({"step": step} | fields).encode() + b"\n")

    judge = _load_judge(exercise.judge, tell)
    if judge is None:
        return
    functions = {name: getattr(judge, name) for name, _ in exercise.cases}
    kernel: Kernel | None = None
    for position, (name, _) in enumerate(exercise.cases):
        tell("begin", case=name)
        if exercise.suffix == HIP and kernel is None:
            kernel = _compile(answer, headers, tell)
            if kernel is None:
                tell("ended", case=name, reason=None)
                break
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = _judge_case(
                    functions[name], answer, kernel, controls.get(name, []), f"{seed}:{name}", tell, first=position == 0
                )
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
            finally:
                os._exit(code)
        status = os.waitpid(pid, 0)[1]
        loaded = os.waitstatus_to_exitcode(status) != NOT_LOADED
        tell("ended", case=name, reason=exit_reason(status) if loaded else None)
        if not loaded:
            break
    tell("end")


def _compile(answer: Path, headers: Path | None, tell: Callable[..., None]) -> Kernel | None:
    """Compiles a HIP answer in the working directory. If that fails, writes the line of the first case."""
    from hipward_kernels.exercise.kernel import NotCompiledError, compile_answer  # noqa: PLC0415 - HIP answers only

    directory = Path.cwd()
    if headers is not None:
        for file in headers.iterdir():
            (directory / file.name).symlink_to(file)
    try:
        return compile_answer(answer, directory)
    except NotCompiledError as error:
        print(error.output, flush=True)
        tell("answer", message=shortened(str(error)), line=error.line)
    except Unavailable as error:
        tell("answer", message=None, line=None)
        tell("case", status="unavailable", message=shortened(str(error)), line=None, notes=[])
    return None


def _judge_case(
    function: Callable[[Any, random.Random], object],
    answer: Path,
    kernel: Kernel | None,
    controls: list[Path],
    seed: str,
    tell: Callable[..., None],
    *,
    first: bool,
) -> int:
    """Runs one case on the answer and, if it passes, on its controls. Returns the exit code."""
    module: Any = kernel
    try:
        if kernel is None:
            # Each case imports the file; what it prints then appears once.
            with contextlib.nullcontext() if first else _silence():
                module = _load(answer, ANSWER)
    except BaseException as error:  # noqa: BLE001 - an answer may raise and exit in any way
        tell("answer", message=shortened(_load_message(error)), line=_line(error, answer))
        return NOT_LOADED
    tell("answer", message=None, line=None)
    status, message, line = _run_case(function, module, answer, seed)
    notes = kernel.notes if kernel else []
    if status == "passed" and kernel and kernel.faulty:
        status, message = "failed", "The emulator reports an error:"
    tell("case", status=status, message=message and shortened(message), line=line, notes=[*map(asdict, notes)])
    if status == "passed" and controls:
        tell("control", status="passed" if _accepts(function, controls, seed) else "failed")
    return 0


def _accepts(function: Callable[[Any, random.Random], object], controls: list[Path], seed: str) -> bool:
    """Whether a case accepts wrong answers.

    One of them may pass by chance with some values, so it must accept each of several runs.
    """
    for run, control in zip(range(CONTROL_RUNS), itertools.cycle(controls), strict=False):
        try:
            with _silence():
                status, _, _ = _run_case(function, _load(control, ANSWER), control, f"{seed}:{run}")
        except BaseException:  # noqa: BLE001 - a wrong answer that no longer loads fails, too
            return False
        if status != "passed":
            return False
    return True


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Discards what is printed, also by libraries."""
    streams = (sys.stdout, sys.stderr)
    saved = [os.dup(fd) for fd in (1, 2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream, fd in zip(streams, (1, 2), strict=True):
        stream.flush()
        os.dup2(nothing, fd)
    os.close(nothing)
    try:
        yield
    finally:
        for stream, fd, original in zip(streams, (1, 2), saved, strict=True):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
            os.dup2(original, fd)
            os.close(original)


def exit_reason(status: int) -> str | None:
    """Why a process ended, by its wait status; None for exit code 0."""
    if status == 0:
        return None
    if not os.WIFSIGNALED(status):
        return f"exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL:
        return "it was killed, possibly for its memory"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _load_judge(path: Path, tell: Callable[..., None]) -> ModuleType | None:
    try:
        judge = _load(path, "judge")
    except Unavailable as error:
        tell("judge", status="unavailable", message=shortened(str(error)))
    except ImportError as error:
        known = (error.name or "").partition(".")[0] in _LIBRARIES
        message = f"The judge needs {error.name}: {error}"
        tell("judge", status="unavailable" if known else "error", message=shortened(message))
    except BaseException as error:  # noqa: BLE001 - a judge may raise anything; its author reads the message
        tell("judge", status="error", message=shortened(_summary(error)))
    else:
        tell("judge", status="loaded", message=None)
        return judge
    return None


def _load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file", name=path.name)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and `inspect` look a module up by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _run_case(
    function: Callable[[Any, random.Random], object], module: Any, path: Path, seed: str
) -> tuple[str, str | None, int | None]:
    """Status, message, and the learner's line."""
    generator = random.Random(seed)  # noqa: S311 - values of tests are not secrets
    if torch := sys.modules.get("torch"):
        torch.manual_seed(generator.getrandbits(63))
    try:
        function(module, generator)
    except Unavailable as error:
        return "unavailable", str(error), None
    except ExpectationError as error:
        return "failed", str(error), error.line or _line(error, path)
    except BaseException as error:  # noqa: BLE001 - an answer may raise and exit in any way
        return "failed", _case_message(error, module, path), _line(error, path)
    return "passed", None, None


def _case_message(error: BaseException, module: Any, path: Path) -> str:
    error = _cause(error)
    if isinstance(error, AttributeError) and getattr(error, "obj", None) is module:
        return f"The file defines no `{error.name}`."
    if isinstance(error, SystemExit):
        return "The file ended the program with sys.exit(). Remove that call."
    if isinstance(error, MemoryError):
        return "The file used more memory than the judge allows."
    if _line(error, path) is not None:
        return f"The file raised {_summary(error)}"
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    return f"The judge could not use the result: {_summary(error)}"


def _load_message(error: BaseException) -> str:
    error = _cause(error)
    if isinstance(error, SyntaxError):
        return f"Syntax error: {error.msg}"
    if isinstance(error, SystemExit):
        return "The file ended the program with sys.exit(). Remove that call."
    if isinstance(error, ModuleNotFoundError):
        return f"There is no module {error.name}. An answer can import PyTorch, NumPy, Triton and hipward_kernels."
    return f"Importing the file raised {_summary(error)}"


def _cause(error: BaseException) -> BaseException:
    """The exception that Triton's interpreter wraps in its own."""
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__
    return error


def _summary(error: BaseException) -> str:
    """Type and text of an exception."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line(error: BaseException, path: Path) -> int | None:
    """The innermost line of the learner's file in an exception's traceback."""
    seen: BaseException | None = error
    line = None
    while seen is not None:
        if isinstance(seen, SyntaxError) and seen.filename == str(path):
            return seen.lineno
        frames = traceback.extract_tb(seen.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), line)
        seen = seen.__cause__
    return line


def enter(output: int, lines: int, directory: Path, memory_mb: int) -> None:
    """Prepares a forked process: own process group, closed input, redirected output, limits.

    Args:
        output: Descriptor for what the answer prints.
        lines: Descriptor for the lines; the only other one that stays open.
        directory: Working directory.
        memory_mb: Memory that the answer may allocate.
    """
    os.setpgid(0, 0)
    faulthandler.disable()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, lines)
    os.closerange(lines + 1, os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1024)
    # Line by line, so that the output before an endless loop is visible.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    os.chdir(directory)
    _limit_resources(memory_mb)


def _limit_resources(memory_mb: int) -> None:
    try:
        import resource  # noqa: PLC0415 - only on Unix
    except ImportError:
        return
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 256 << 20)]
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        # The address space grows by what the answer allocates; what the libraries reserve is not counted.
        limits.append((resource.RLIMIT_AS, mapped + (memory_mb << 20)))
    except OSError:
        pass
    for kind, soft in limits:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)  # noqa: PLW2901
        resource.setrlimit(kind, (soft, hard))
