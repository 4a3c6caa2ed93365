"""The roofline is a lower bound of the time, also if the processor is busy while it is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from hipward_kernels.harness.roofline import LOOK_SECONDS, MARGIN, PEAK_MARGIN, Work, roofline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CPU = torch.device("cpu")


class SlowWithThreads:
    """A clock beside which another program runs all the time, so that threads wait for each other."""

    name = cache = "made up"

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        assert callable(call)
        return [1.0 if torch.get_num_threads() == 1 else 10.0] * len(arguments), None


class BusyThenFree:
    """A clock beside which another program runs at first, for longer than ten calls take."""

    name = cache = "made up"

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        name = str(getattr(call, "__name__", call))
        busy = time.perf_counter() - self._since.setdefault(name, time.perf_counter()) < LOOK_SECONDS / 4
        return [10.0 if busy else 1.0] * len(arguments), None


def test_floor_is_independent_of_initial_load() -> None:
    moved = 1 << 24
    found = roofline(Work(moved // 2, moved // 2, 0), CPU, torch.float32, BusyThenFree())
    # A copy of so many bytes takes 1 ms, and the work may be faster by the margin.
    assert found.floor_ms == pytest.approx(1.0 / MARGIN)
    found = roofline(Work(0, 0, 2 * 512**3), CPU, torch.float32, BusyThenFree())
    assert found.bound == "compute"
    assert found.floor_ms == pytest.approx(1.0 / PEAK_MARGIN)


def test_single_threaded_work_has_the_floor_of_one_thread() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = roofline(Work(1 << 23, 1 << 23, 0), CPU, torch.float32, SlowWithThreads())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert found.floor_ms == pytest.approx(1.0 / MARGIN)
    # The bandwidth of a copy is reported as measured.
    assert found.copy_gbs == pytest.approx((1 << 24) / 10.0 / 1e6)
