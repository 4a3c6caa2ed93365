"""Graph breaks of `torch.compile`: each returns to Python and prevents fusion across it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Break:
    """A graph break."""

    reason: str
    place: str
    """`model.py:12 in forward`, the line of the user's code; empty if PyTorch does not report it."""


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
        lines = [f"{graphs}, {len(self.breaks)} breaks:"]
        lines += [f"- {b.place or 'unknown place'}: {b.reason}" for b in self.breaks]
        return "\n".join(lines)


def graph_breaks(call: Callable[..., Any], arguments: Sequence[Any]) -> GraphReport:
    """Traces one call without compiling it, and reports graph breaks."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way
    try:
        explained = torch._dynamo.explain(call)(*arguments)  # noqa: SLF001 - documented, too
    finally:
        torch._dynamo.reset()  # noqa: SLF001
    breaks = [
        Break(_first_line(str(reason.reason)), _place(reason.user_stack))
        for reason in explained.break_reasons
        if getattr(reason, "graph_break", True)
    ]
    return GraphReport(explained.graph_count, explained.op_count, breaks)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"


def _place(stack: Sequence[Any] | None) -> str:
    """The innermost frame outside of libraries."""
    for frame in reversed(stack or []):
        if "site-packages" not in frame.filename and "dist-packages" not in frame.filename:
            return f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}"
    return ""
