"""Samples of a throttled device are dropped and counted. If throttling cannot be detected, the conditions state it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import torch

from hipward_kernels.environment.sensors import Reading
from hipward_kernels.harness import race as race_module
from hipward_kernels.harness.deadline import Deadline
from hipward_kernels.harness.race import Entrant, Race, SlowedError
from hipward_kernels.harness.sampling import StopRule
from hipward_kernels.harness.throttle import CpuWatch, GpuWatch, NoWatch, watch_for
from hipward_kernels.numerics.limit import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass
class FakeSensors:
    """A GPU whose clock is set by the test."""

    readings: list[Reading]
    source: str = "NVML"

    def read(self) -> Reading:
        return self.readings.pop(0)

    def max_sm_mhz(self) -> int:
        return 2000

    def other_processes(self) -> None:
        return None

    def partition(self) -> None:
        return None


def seen(*readings: Reading, busy_for: int) -> bool:
    """The result of a watch on a GPU that is done at the `busy_for`-th reading."""
    watch = GpuWatch(FakeSensors(list(readings)), 2000)
    looks = count(1)
    watch.begin()
    watch.wait(lambda: next(looks) > busy_for)
    return watch.slowed()


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        (Reading(sm_mhz=1980), "full speed"),
        (Reading(sm_mhz=1499), "slowed"),
        (Reading(sm_mhz=1300, power_capped=True), "full speed"),
        (Reading(sm_mhz=1300, power_capped=True, slowed_by="heat"), "slowed"),
        (Reading(sm_mhz=1980, slowed_by="heat"), "slowed"),
        (Reading(), "full speed"),
    ],
)
def test_low_clock_and_heat_are_throttling_and_a_power_cap_is_not(reading: Reading, says: str) -> None:
    assert seen(reading, busy_for=2) == (says == "slowed")


def test_lower_clock_after_the_work_is_not_throttling() -> None:
    assert not seen(Reading(sm_mhz=94), busy_for=1)


def test_thermal_event_of_a_core_is_throttling(tmp_path: Path) -> None:
    counter = tmp_path / "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
    assert isinstance(watch_for(torch.device("cpu"), tmp_path), NoWatch)
    counter.parent.mkdir(parents=True)
    counter.write_text("3\n")
    watch = watch_for(torch.device("cpu"), tmp_path)
    assert isinstance(watch, CpuWatch)
    watch.begin()
    assert not watch.slowed()
    counter.write_text("4\n")
    assert watch.slowed()


@dataclass
class FakeClock:
    """Reports the same time for every call, and a throttled device in some turns."""

    slow: Callable[[int], bool]
    turns: int = 0
    name: str = "device events"
    cache: str = "warm"
    hidden_ms: float = 0.0
    outside_ms: float = 0.0
    watch: Any = field(default_factory=lambda: NoWatch("a test"))

    def samples(
        self, call: Any, arguments: Sequence[Any], after: Any = None, before: Any = None
    ) -> tuple[list[float], Any]:
        self.turns += 1
        self.watch.slowed = lambda: self.slow(self.turns)
        for index, args in enumerate(arguments):
            before(index)
            after(index, call(*args))
        return [10.0] * len(arguments), None


class FakeRing:
    def take(self) -> list[torch.Tensor]:
        return [torch.ones(2)]

    def refresh(self) -> None: ...

    def renews(self, _call_s: float) -> bool:
        return True

    def renew(self, arguments: list[torch.Tensor]) -> None: ...


@dataclass
class Told:
    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def samples(self, _variant: str, round_: int, ms: Sequence[float]) -> None:
        self.lines.append(("samples", round_, len(ms)))

    def sampled(self, variant: str, stop: str, dropped: int) -> None:
        self.lines.append(("sampled", variant, stop, dropped))


def timed(monkeypatch: pytest.MonkeyPatch, slow: Callable[[int], bool]) -> tuple[Told, list[str], list[float]]:
    pauses: list[float] = []
    monkeypatch.setattr(race_module, "sleep", pauses.append)
    told, failures = Told(), list[str]()
    race = Race(
        {"eager": Entrant(torch.neg, 0.01)},
        FakeRing(),  # type: ignore[arg-type]
        FakeClock(slow),
        [],
        Limit(),
        lambda _variant, error: failures.append(f"{type(error).__name__}: {error}"),
        lambda: None,
        lambda _variant: None,
        Deadline(None),
    )
    race.start(StopRule(time_cap_s=1.0), told)  # type: ignore[arg-type]
    return told, failures, pauses


def test_turns_of_a_slowed_device_are_dropped_and_counted_with_growing_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    told, failures, pauses = timed(monkeypatch, lambda turn: turn in (2, 3, 4))
    (kind, variant, _, dropped) = told.lines[-1]
    assert (kind, variant, dropped) == ("sampled", "eager", 30)
    assert [line[1] for line in told.lines[:-1]] == [0, 4, 5, 6, 7, 8, 9][: len(told.lines) - 1]
    assert pauses == [0.05, 0.1, 0.2]
    assert failures == []


def test_variant_with_only_throttled_turns_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    told, failures, pauses = timed(monkeypatch, lambda _: True)
    assert told.lines == []
    assert failures == [f"{SlowedError.__name__}: could not be timed: the device was throttled in every turn"]
    assert max(pauses) == 0.5
