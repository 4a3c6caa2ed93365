"""Intervals of comparisons: planted differences are found, and none are found where there are none."""

from __future__ import annotations

import random

import pytest

from hipward_kernels.bench.comparison import Ratio, Rounds, outcome, ratio


def series(middle: float, seed: int, drift: float = 0.0) -> Rounds:
    order = random.Random(seed)  # noqa: S311 - draws, not secrets
    return [[middle * (1 + drift * i) * order.gauss(1, 0.01) for _ in range(20)] for i in range(15)]


@pytest.mark.parametrize(("rival", "said"), [(1.05, "FASTER"), (0.95, "SLOWER"), (1.0, "SAME")])
def test_planted_difference_is_the_only_one_found(rival: float, said: str) -> None:
    for seed in range(20):
        mine = series(4.2, seed)
        noise = ratio(series(4.2, seed + 100), mine).noise
        assert noise < 1.01
        assert outcome(ratio(series(4.2 * rival, seed + 200), mine), noise) == said


def test_common_drift_cancels_out() -> None:
    found = ratio(series(4.2, 1, drift=0.05), series(4.2, 2, drift=0.05))
    assert found.high - found.low < 0.02
    assert found.low < 1 < found.high


def test_certain_slowdown_counts_even_if_small() -> None:
    assert outcome(Ratio(0.994, 0.993, 0.995), 1.002) == "SLOWER"
    assert outcome(Ratio(0.994, 0.993, 0.995), 1.01) == "SAME"
    assert outcome(Ratio(1.0, 0.9, 1.1), 1.002) == "AMBIGUOUS"
    assert outcome(Ratio(1.0, 0.6, 1.2), 2.0) == "AMBIGUOUS"


def test_interval_contains_the_ratio_if_one_variant_stopped_earlier() -> None:
    drifting = [[1.0 + 0.1 * index] * 5 for index in range(30)]
    found = ratio(drifting, [[each[0] / 1.25] * 5 for each in drifting[:8]])
    assert found.low <= found.middle <= found.high
    assert found.middle == pytest.approx(1.25)
