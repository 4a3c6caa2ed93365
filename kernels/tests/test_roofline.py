"""The roofline is a lower bound of the time, also if the processor is busy while it is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from hipward_kernels.harness.roofline import LOOK_SECONDS, MARGIN, PEAK_MARGIN, Work, roofline, work_of

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


class Reader(nn.Module):
    """Reads five rows of a table and all other weights, some of them in each of three steps."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(1000, 16)
        self.mixed = nn.Conv1d(16, 16, 3, padding=1)
        self.steps = nn.GRU(16, 16)

    def forward(self, at: Tensor) -> Tensor:
        x = self.mixed(self.rows(at).transpose(1, 2)).permute(2, 0, 1)
        return torch.cat([self.steps(x)[0] for _ in range(3)], dim=-1)


def test_work_is_each_byte_once_and_each_product() -> None:
    model, at = Reader(), torch.randint(0, 1000, (1, 5))
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        out = model(at)
    weights = [*model.mixed.parameters(), *model.steps.parameters()]
    read = at.numel() * 8 + 5 * 16 * 4 + sum(weight.numel() * 4 for weight in weights)
    work = work_of(model, [at])
    assert (work.bytes_read, work.bytes_written, work.flops) == (read, out.numel() * 4, counter.get_total_flops())
    assert {"aten::embedding", "aten::convolution"} <= work.operators
