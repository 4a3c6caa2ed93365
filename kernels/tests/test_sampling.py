"""The stop rule and the order of the rounds, with simulated times."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from hipward_kernels.harness.sampling import Dropped, StopRule, interleave, median_interval, relative_half_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Recorder:
    """A machine whose calls take simulated times, and a listener that records the events."""

    def __init__(self, **call_ms: Callable[[], float]) -> None:
        self.call_ms = call_ms
        self.expected_s = {name: call() / 1e3 for name, call in call_ms.items()}
        self.ms: dict[str, list[float]] = {name: [] for name in call_ms}
        self.turns: list[list[str]] = []
        self.stops: dict[str, str] = {}
        self.out: list[str] = []

    def take(self, variant: str, count: int) -> list[float] | None:
        return [self.call_ms[variant]() for _ in range(count)]

    def samples(self, variant: str, round_: int, ms: Sequence[float]) -> None:
        assert round_ == len(self.turns) - 1
        self.turns[-1].append(variant)
        self.ms[variant].extend(ms)

    def sampled(self, variant: str, stop: str) -> None:
        self.stops[variant] = stop

    def run(self, rule: StopRule, has_time: Callable[[str], bool] = lambda _: True) -> None:
        order = random.Random(3)  # noqa: S311
        begin_round = lambda: self.turns.append([])  # noqa: E731
        self.out = interleave(self.expected_s, self.take, rule, order, self, begin_round, has_time)


def noise(middle: float, spread: float) -> Callable[[], float]:
    source = random.Random(7)  # noqa: S311
    return lambda: middle * (1 + spread * source.uniform(-1, 1))


def test_steady_call_stops_when_its_median_is_known() -> None:
    machine = Recorder(a=noise(5.0, 0.02))
    machine.run(StopRule())
    assert machine.stops == {"a": "converged"}
    assert sum(machine.ms["a"]) >= 500
    assert len(machine.ms["a"]) >= 30
    assert relative_half_width(machine.ms["a"]) <= 0.01


def test_noisy_call_stops_at_the_sample_cap() -> None:
    machine = Recorder(a=noise(1.0, 0.9))
    machine.run(StopRule(half_width=0.001))
    assert machine.stops == {"a": "sample-cap"}
    assert len(machine.ms["a"]) == 1000


def test_short_steady_call_converges_at_the_sample_cap() -> None:
    machine = Recorder(a=noise(0.01, 0.01))
    machine.run(StopRule())
    assert machine.stops == {"a": "converged"}
    assert len(machine.ms["a"]) == 1000


def test_slow_call_stops_at_the_time_cap_with_five_rounds() -> None:
    machine = Recorder(a=noise(400.0, 0.3))
    machine.run(StopRule(time_cap_s=2.0, half_width=0.0001))
    assert machine.stops == {"a": "time-cap"}
    assert len(machine.turns) >= 5
    assert sum(machine.ms["a"]) < 5000


def test_time_cap_applies_after_the_samples_of_a_verdict() -> None:
    machine = Recorder(a=noise(400.0, 0.3))
    machine.run(StopRule(time_cap_s=0.3, half_width=0.0001))
    assert machine.stops == {"a": "time-cap"}
    assert len(machine.ms["a"]) == 10


def test_permanently_throttled_device_is_not_waited_for() -> None:
    machine = Recorder(a=noise(100.0, 0.3))
    turns = iter(range(1000))
    measured = machine.take
    machine.take = lambda variant, count: measured(variant, count) if next(turns) == 0 else Dropped(0.5)  # type: ignore[method-assign, assignment, return-value]
    machine.run(StopRule(time_cap_s=2.0, half_width=0.0001))
    assert machine.stops == {"a": "time-cap"}
    assert next(turns) < 10


def test_without_time_for_a_turn_unsampled_variants_are_omitted() -> None:
    machine = Recorder(a=noise(400.0, 0.3), b=noise(400.0, 0.3))
    machine.run(StopRule(), has_time=lambda _: sum(map(len, machine.ms.values())) < 5)
    assert machine.stops == {"a": "time-limit", "b": "time-limit"}
    assert sum(map(len, machine.ms.values())) == 5
    late = Recorder(a=noise(400.0, 0.3), b=noise(400.0, 0.3))
    late.run(StopRule(), has_time=lambda _: sum(map(len, late.ms.values())) < 1)
    assert (len(late.stops), len(late.out)) == (1, 1)


def test_variants_are_interleaved_in_random_order() -> None:
    machine = Recorder(a=noise(2.0, 0.01), b=noise(2.0, 0.01), c=noise(2.0, 0.01))
    machine.run(StopRule())
    assert all(sorted(turn) == ["a", "b", "c"] for turn in machine.turns[:5])
    assert len({tuple(turn) for turn in machine.turns[:5]}) > 1


def test_failing_variant_is_excluded_and_others_continue() -> None:
    machine = Recorder(a=noise(2.0, 0.01), b=noise(2.0, 0.01))
    takes = machine.take
    machine.take = lambda variant, count: None if variant == "b" else takes(variant, count)  # type: ignore[method-assign]
    machine.run(StopRule())
    assert machine.stops == {"a": "converged"}
    assert machine.ms["b"] == []


def test_interval_has_its_nominal_coverage() -> None:
    source = random.Random(11)  # noqa: S311
    trials = 1000
    covered = 0
    for _ in range(trials):
        _, low, high = median_interval([source.expovariate(1.0) for _ in range(40)])
        covered += low <= 0.6931 <= high
    assert covered / trials >= 0.93


@pytest.mark.parametrize(
    ("samples", "interval"),
    [([3.0], (3.0, 3.0, 3.0)), ([1.0, 2.0], (1.5, 1.0, 2.0)), ([2.0, 9.0, 1.0], (2.0, 1.0, 9.0))],
)
def test_few_samples_have_the_widest_interval(samples: list[float], interval: tuple[float, float, float]) -> None:
    assert median_interval(samples) == interval


def test_stop_rule_has_a_description() -> None:
    assert "±1%" in StopRule().in_words()
    assert "±0.2%" in StopRule(half_width=0.002).in_words()
    assert "at most 1000 samples or 15 s" in StopRule().in_words()


def test_dropped_turns_use_time_and_have_no_samples() -> None:
    turns = iter([Dropped(0.4), [1.0] * 10, Dropped(0.4), Dropped(0.4), [1.0] * 10])
    machine = Recorder(a=lambda: 1.0)
    machine.take = lambda *_: next(turns)  # type: ignore[assignment,method-assign]
    machine.run(StopRule(time_cap_s=1.0))
    assert machine.ms["a"] == [1.0] * 10
    assert machine.turns == [[], ["a"], [], []]
    assert machine.stops == {"a": "time-cap"}
