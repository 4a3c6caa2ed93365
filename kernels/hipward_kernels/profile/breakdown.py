"""Reads a Chrome trace of PyTorch's profiler: the time of each kind of work, and the gaps in between.

On a GPU, kernels are counted, and a gap is time without a running kernel. On a CPU, operators are counted, each without
the operators that it calls, and a gap is time between operators, in Python. Chrome's format: "Trace Event Format",
complete events (`ph` is `X`), microseconds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hipward_kernels.profile.classes import KINDS, Kind, kind_of
from hipward_kernels.profile.files import open_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Kernel:
    """All launches of one kernel, or all calls of one operator."""

    name: str
    kind: Kind
    calls: int
    ms: float


@dataclass(frozen=True)
class Breakdown:
    """Breakdown of a profiled interval."""

    on_gpu: bool
    span_ms: float
    """From the first kernel's start to the last one's end."""
    gap_ms: float
    """Time without a running kernel: launch overhead, waiting, Python."""
    kernels: list[Kernel] = field(default_factory=list)
    """Longest first."""

    @property
    def launches(self) -> int:
        """Kernels or operators that ran."""
        return sum(kernel.calls for kernel in self.kernels)

    def ms_of(self, kind: Kind) -> float:
        """Time of all kernels of one kind; concurrent kernels are all counted."""
        return sum(kernel.ms for kernel in self.kernels if kernel.kind == kind)


def read_trace(path: Path) -> Breakdown:
    """Reads a trace file, compressed or not.

    Raises:
        ValueError: It is not a Chrome trace, or contains no kernels or operators.
    """
    with open_text(path) as file:
        try:
            trace = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no Chrome trace: {error}") from error
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    complete = [event for event in events if event.get("ph") == "X" and event.get("dur") is not None]
    on_gpu = [event for event in complete if event.get("cat") in GPU_CATEGORIES]
    if on_gpu:
        return _breakdown(on_gpu, [float(event["dur"]) for event in on_gpu], on_gpu=True)
    operators = [event for event in complete if event.get("cat") == "cpu_op"]
    if not operators:
        raise ValueError(f"{path} holds no kernels and no operators")
    return _breakdown(operators, _own_times(operators), on_gpu=False)


def _breakdown(events: Sequence[dict[str, Any]], times: Iterable[float], *, on_gpu: bool) -> Breakdown:
    calls: dict[str, int] = defaultdict(int)
    us: dict[str, float] = defaultdict(float)
    for event, own in zip(events, times, strict=True):
        calls[event["name"]] += 1
        us[event["name"]] += own
    spans = sorted((float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in events)
    busy, end = 0.0, spans[0][0]
    for start, stop in spans:
        busy += max(stop - max(start, end), 0.0)
        end = max(end, stop)
    span = end - spans[0][0]
    kernels = [Kernel(name, kind_of(name), calls[name], us[name] / 1e3) for name in calls]
    kernels.sort(key=lambda kernel: kernel.ms, reverse=True)
    return Breakdown(on_gpu, span / 1e3, (span - busy) / 1e3, kernels)


def _own_times(events: Sequence[dict[str, Any]]) -> list[float]:
    """Time of each operator without that of the operators that it calls in the same thread."""
    own = [float(event["dur"]) for event in events]
    open_: dict[Any, list[int]] = defaultdict(list)
    # Of two operators with the same start, the longer one is the caller.
    for at in sorted(range(len(events)), key=lambda i: (float(events[i]["ts"]), -float(events[i]["dur"]))):
        start, stack = float(events[at]["ts"]), open_[events[at].get("tid")]
        while stack and start >= float(events[stack[-1]]["ts"]) + float(events[stack[-1]]["dur"]):
            stack.pop()
        if stack:
            own[stack[-1]] -= float(events[at]["dur"])
        stack.append(at)
    return [max(us, 0.0) for us in own]


def table(breakdown: Breakdown, *, rows: int = 15) -> str:
    """The breakdown as Markdown: a line for each kind, then the longest kernels."""
    what = "kernels" if breakdown.on_gpu else "operators"
    lines = [f"| kind | ms | share of {breakdown.span_ms:.3f} ms | {what} |", "|---|---:|---:|---:|"]
    for kind in KINDS:
        calls = sum(kernel.calls for kernel in breakdown.kernels if kernel.kind == kind)
        lines.append(f"| {kind} | {breakdown.ms_of(kind):.3f} | {_share(breakdown.ms_of(kind), breakdown)} | {calls} |")
    lines.append(f"| launch gap | {breakdown.gap_ms:.3f} | {_share(breakdown.gap_ms, breakdown)} | |")
    lines += ["", f"| longest {what} | kind | calls | ms |", "|---|---|---:|---:|"]
    lines += [
        f"| `{kernel.name[:100].replace('|', '/')}` | {kernel.kind} | {kernel.calls} | {kernel.ms:.3f} |"
        for kernel in breakdown.kernels[:rows]
    ]
    return "\n".join(lines)


def _share(ms: float, breakdown: Breakdown) -> str:
    return f"{ms / breakdown.span_ms:.1%}" if breakdown.span_ms else "-"
