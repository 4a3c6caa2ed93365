"""A kernel launch as recorded by ROCm's profilers, and a summary by kernel."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.profile.breakdown import Breakdown, Kernel
from hipward_kernels.profile.classes import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Dispatch:
    """A kernel launch."""

    kernel: str
    start_ns: int
    end_ns: int
    vgprs: int | None
    """None, here and below, if it is not recorded."""
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    """Scratch memory of a thread; positive if registers were spilled."""
    workgroup_threads: int
    grid_threads: int


def summary(dispatches: Sequence[Dispatch]) -> Breakdown:
    """The breakdown of launches: time by kernel and kind, and the gaps.

    Raises:
        ValueError: There are no launches.
    """
    if not dispatches:
        raise ValueError("no kernel ran while the profiler looked")
    ordered = sorted(dispatches, key=lambda dispatch: dispatch.start_ns)
    times: dict[str, list[int]] = defaultdict(list)
    busy, end = 0, ordered[0].start_ns
    for one in ordered:
        times[one.kernel].append(one.end_ns - one.start_ns)
        busy += max(one.end_ns - max(one.start_ns, end), 0)
        end = max(end, one.end_ns)
    span = end - ordered[0].start_ns
    kernels = [Kernel(name, kind_of(name), len(ns), sum(ns) / 1e6) for name, ns in times.items()]
    kernels.sort(key=lambda kernel: kernel.ms, reverse=True)
    return Breakdown(on_gpu=True, span_ms=span / 1e6, gap_ms=(span - busy) / 1e6, kernels=kernels)
