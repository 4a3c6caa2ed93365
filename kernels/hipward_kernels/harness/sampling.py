"""Order of the timed variants, and the stop rule.

Variants take turns in random order, so that a drift of the machine affects all of them. This module uses neither a
clock nor PyTorch; both are passed in.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.lines import StopReason

ROUND_SECONDS = 0.1
"""Target duration of a turn: short against drift, and short enough for a live display."""

ROUND_SAMPLES = 100

WALL_FACTOR = 1.5
"""Time of a variant's turns, with everything between its samples, over the time cap of the samples."""


@dataclass(frozen=True)
class StopRule:
    """When a variant has been timed enough."""

    time_cap_s: float = 15.0
    half_width: float = 0.01
    min_samples: int = 30
    min_seconds: float = 0.5
    max_samples: int = 1000
    min_rounds: int = 5
    least_samples: int = 10
    """Fewest samples, in `min_rounds` rounds, even beyond the time cap: the runner gives no verdict on fewer."""
    round_samples: int = ROUND_SAMPLES
    """Most samples of a turn; fewer samples per turn mean more rounds."""

    def in_words(self) -> str:
        """The rule as a sentence, for the conditions of a result."""
        return (
            f"until the 95 % interval of the median is within ±{self.half_width * 100:g}%, with at least "
            f"{self.min_samples} samples and {self.min_seconds:g} s in {self.min_rounds} rounds; "
            f"at most {self.max_samples} samples or {self.time_cap_s:g} s, and at least {self.least_samples} samples"
        )


@dataclass
class Series:
    """A variant's samples so far, in milliseconds."""

    expected_s: float
    """Expected duration of a call before the first sample."""
    ms: list[float] = field(default_factory=list)
    rounds: int = 0
    dropped_s: float = 0.0
    """Duration of the dropped samples."""

    @property
    def seconds(self) -> float:
        """Duration of the samples in seconds."""
        return sum(self.ms) * 1e-3

    def stop(self, rule: StopRule, wall_s: float = 0.0) -> StopReason | None:
        """The reason to stop now, or None to continue. `wall_s` is the time of all turns so far."""
        precise = (
            len(self.ms) >= rule.min_samples
            and self.rounds >= rule.min_rounds
            and relative_half_width(self.ms) <= rule.half_width
        )
        if precise and self.seconds >= rule.min_seconds:
            return "converged"
        if len(self.ms) >= rule.max_samples:
            return "converged" if precise else "sample-cap"
        enough = len(self.ms) >= rule.least_samples and self.rounds >= rule.min_rounds
        spent_s = max(self.seconds + self.dropped_s, wall_s / WALL_FACTOR)
        # Stops also if the device is throttled all the time.
        if self.dropped_s >= rule.time_cap_s or (enough and spent_s >= rule.time_cap_s):
            return "converged" if precise else "time-cap"
        return None

    def next_count(self, rule: StopRule) -> int:
        """Samples to take in the next round."""
        call_s = self.seconds / len(self.ms) if self.ms else self.expected_s
        # A slow call must not use the time of five rounds in one.
        turn_s = min(ROUND_SECONDS, rule.time_cap_s / rule.min_rounds)
        count = min(max(int(turn_s / max(call_s, 1e-9)), 1), rule.round_samples)
        return min(count, rule.max_samples - len(self.ms))


@dataclass(frozen=True)
class Dropped:
    """A turn whose samples do not count."""

    seconds: float
    """Duration of the samples."""


def median_interval(samples: list[float]) -> tuple[float, float, float]:
    """Median and its 95 % confidence interval, from order statistics (binomial ranks)."""
    ordered = sorted(samples)
    n = len(ordered)
    half = 0.98 * math.sqrt(n)
    low = max(math.floor((n - 1) / 2 - half), 0)
    high = min(math.ceil((n - 1) / 2 + half), n - 1)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return middle, ordered[low], ordered[high]


def relative_half_width(samples: list[float]) -> float:
    """Half the width of the median's interval over the median."""
    middle, low, high = median_interval(samples)
    return (high - low) / (2 * middle) if middle > 0 else math.inf


Name = TypeVar("Name", bound=str)
_Name_contra = TypeVar("_Name_contra", bound=str, contravariant=True)


class Listener(Protocol[_Name_contra]):
    """Receives samples; `Lines` is one."""

    def samples(self, variant: _Name_contra, round_: int, ms: Sequence[float]) -> None:
        """A variant's samples of one round."""

    def sampled(self, variant: _Name_contra, stop: StopReason) -> None:
        """Sampling of a variant ended for a reason."""


def interleave(
    expected_s: Mapping[Name, float],
    take: Callable[[Name, int], list[float] | Dropped | None],
    rule: StopRule,
    order: random.Random,
    listener: Listener[Name],
    before_round: Callable[[], None],
    has_time: Callable[[Name], bool] = lambda _: True,
    wall_s: Callable[[Name], float] = lambda _: 0.0,
) -> list[Name]:
    """Times all variants, round by round, until each has a reason to stop.

    Args:
        expected_s: The variants, with the approximate duration of a call.
        take: Takes samples of a variant, in milliseconds. Returns `Dropped` if they are invalid, and None if the
            variant has failed and is left out.
        rule: When to stop.
        order: Shuffles each round.
        listener: Receives samples as soon as they are taken.
        before_round: Called before each round.
        has_time: Whether there is time for another turn of a variant. If not, all variants stop.
        wall_s: Seconds of all turns of a variant so far.

    Returns:
        Variants without samples, because there was no time.
    """
    running = {variant: Series(seconds) for variant, seconds in expected_s.items()}
    rounds = itertools.count()
    while running:
        round_ = next(rounds)
        before_round()
        turns = list(running)
        order.shuffle(turns)
        for variant in turns:
            series = running[variant]
            if not has_time(variant):
                return _stop_all(running, listener)
            taken = take(variant, series.next_count(rule))
            if taken is None:
                del running[variant]
                continue
            if isinstance(taken, Dropped):
                series.dropped_s += taken.seconds
            else:
                series.ms.extend(taken)
                series.rounds += 1
                listener.samples(variant, round_, taken)
            if series.ms and (reason := series.stop(rule, wall_s(variant))) is not None:
                del running[variant]
                listener.sampled(variant, reason)
    return []


def _stop_all(running: Mapping[Name, Series], listener: Listener[Name]) -> list[Name]:
    """Ends the sampling of every variant at the job's time limit; returns those without a sample."""
    for variant, series in running.items():
        if series.ms:
            listener.sampled(variant, "time-limit")
    return [variant for variant, series in running.items() if not series.ms]
