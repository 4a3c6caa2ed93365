"""Graph breaks of `torch.compile`: each returns to Python and prevents fusion across it.

`torch._dynamo.explain` reports a break only if it ends a graph that has operators, and reports a loop at each iteration
that is traced separately. So the breaks come from Dynamo's log, which has each of them, and each line is listed once.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Break:
    """A graph break."""

    reason: str
    place: str
    """`model.py:12 in forward`, the line of the user's code; empty if PyTorch does not report it."""
    times: int = 1
    """Number of times that Dynamo breaks the graph here, which is more than 1 in a loop."""


@dataclass(frozen=True)
class GraphReport:
    """The graphs of a call."""

    graphs: int
    operators: int
    """Number of operators in all graphs."""
    breaks: list[Break]

    def in_words(self) -> str:
        """A summary line, then a line for each break."""
        graphs = f"{self.graphs} graph{'' if self.graphs == 1 else 's'} with {self.operators} operators"
        if not self.breaks:
            return f"{graphs}, no breaks: torch.compile(fullgraph=True) takes it."
        lines = [f"{graphs}, {len(self.breaks)} break{'' if len(self.breaks) == 1 else 's'}:"]
        for each in self.breaks:
            times = f" ({each.times} times)" if each.times > 1 else ""
            lines.append(f"- {each.place or 'unknown place'}: {each.reason}{times}")
        return "\n".join(lines)


_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"

_AT = re.compile(r"^Graph break\b.* in user code at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>\S+)$', re.MULTILINE)
_REASON = "Graph Break Reason: "
_TRACEBACK = "User code traceback:"
_CONTINUATION = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+")
"""Name of the code after a break."""

_PACKAGES = ("site-packages", "dist-packages")


def graph_breaks(call: Callable[..., Any], arguments: Sequence[Any]) -> GraphReport:
    """Traces one call without compiling it, and reports graph breaks."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way
    try:
        with _logged() as messages:
            explained = torch._dynamo.explain(call)(*arguments)  # noqa: SLF001 - documented, too
    finally:
        torch._dynamo.reset()  # noqa: SLF001
    found: dict[str, _Seen] = {}
    for message in messages:
        if (at := _AT.search(message)) is not None:
            seen = found.setdefault(f"{at['file']}:{at['line']}", _Seen(_reason(message), _place_in(message, at)))
            seen.times += 1
    for reason in explained.break_reasons:
        stack = list(reason.user_stack or [])
        key = f"{stack[-1].filename}:{stack[-1].lineno}" if stack else f"unknown {len(found)}"
        if getattr(reason, "graph_break", True) and key not in found:
            # The log was turned off, or has another form in this version.
            found[key] = _Seen(_first_line(str(reason.reason)), _place(stack), times=1)
    breaks = [Break(seen.reason, seen.place, seen.times) for seen in found.values()]
    return GraphReport(explained.graph_count, explained.op_count, breaks)


@dataclass
class _Seen:
    reason: str
    place: str
    times: int = 0


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collects the messages of Dynamo's log of graph breaks within a `with` block."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, collector = logging.getLogger(_LOGGER), Collector(logging.DEBUG)
    level, propagate = logger.level, logger.propagate
    # Without propagation, nothing is printed that is not printed otherwise.
    propagate_now = propagate and logger.isEnabledFor(logging.DEBUG)
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    logger.propagate = propagate_now
    try:
        yield messages
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
        logger.propagate = propagate


def _reason(message: str) -> str:
    lines = message.partition(_REASON)[2].splitlines()
    # The first line may only name the kind of bytecode, and is followed by the reason.
    return _first_line("\n".join(lines[1:] if lines and lines[0].startswith("Encountered graph break") else lines))


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"


def _place_in(message: str, at: re.Match[str]) -> str:
    """The innermost frame of the model outside of libraries, from the traceback of a message."""
    frames = list(_FRAME.finditer(message.partition(_TRACEBACK)[2]))
    # Callers of this module come first.
    start = max((index + 1 for index, frame in enumerate(frames) if frame["file"] == __file__), default=0)
    for frame in reversed(frames[start:]):
        if not any(part in frame["file"] for part in _PACKAGES):
            return _named(frame["file"], frame["line"], frame["name"])
    return f"{at['file'].rpartition('/')[2]}:{at['line']}"


def _place(stack: Sequence[Any]) -> str:
    """The innermost frame outside of libraries."""
    for frame in reversed(stack):
        if not any(part in frame.filename for part in _PACKAGES):
            return _named(frame.filename, frame.lineno, frame.name)
    return ""


def _named(file: str, line: object, name: str) -> str:
    function = _CONTINUATION.sub(r"\1", name)
    return f"{file.rpartition('/')[2]}:{line} in {function}"
