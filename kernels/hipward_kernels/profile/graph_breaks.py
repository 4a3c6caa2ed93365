"""Where `torch.compile` stops and goes on in Python: each break costs a launch of Python and ends all fusion there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Break:
    """One place."""

    reason: str
    place: str
    """`model.py:12 in forward`, the user's own line; empty where PyTorch does not say it."""


@dataclass(frozen=True)
class GraphReport:
    """What `torch.compile` makes of a call."""

    graphs: int
    operators: int
    """In all graphs together."""
    breaks: list[Break]

    def in_words(self) -> str:
        """For a person: one line, then one for each break."""
        graphs = f"{self.graphs} graph{'' if self.graphs == 1 else 's'} with {self.operators} operators"
        if not self.breaks:
            return f"{graphs}, no breaks: torch.compile(fullgraph=True) takes it."
        lines = [f"{graphs}, {len(self.breaks)} breaks:"]
        lines += [f"- {b.place or 'unknown place'}: {b.reason}" for b in self.breaks]
        return "\n".join(lines)


def graph_breaks(call: Callable[..., Any], arguments: Sequence[Any]) -> GraphReport:
    """Traces one call, without compiling it, and says where the trace breaks."""
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
    """The innermost frame that is no library's."""
    for frame in reversed(stack or []):
        if "site-packages" not in frame.filename and "dist-packages" not in frame.filename:
            return f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}"
    return ""
