# test: run
"""Times two functions against each other and reports confidence intervals."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Call = Callable[[torch.Tensor], object]
SECOND = 1e6  # everything below is in microseconds


# anchor: clock
class Clock:
    """Device events and cold caches where there is a GPU; the monotonic clock where there is none."""

    def __init__(self, device: torch.device, flush_mib: int = 576) -> None:
        self.device = device
        if device.type == "cuda":
            self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.flush = torch.empty(flush_mib * 2**20, dtype=torch.int8, device=device)

    def time(self, call: Call, x: torch.Tensor) -> float:
        if self.device.type == "cuda":
            self.flush.zero_()  # empties the caches, and keeps the GPU busy while we queue the rest
            self.start.record()
            call(x)
            self.end.record()
            self.end.synchronize()
            return self.start.elapsed_time(self.end) * 1000
        start = time.perf_counter_ns()
        call(x)
        return (time.perf_counter_ns() - start) / 1000

    def overhead(self) -> float:
        """Time measured for no work. A result below ten times this value is unreliable."""
        return statistics.median(self.time(lambda x: None, torch.empty(0)) for _ in range(100))
# end: clock


# anchor: warm-up
def warm_up(call: Call, inputs: Sequence[torch.Tensor], clock: Clock) -> float:
    """Run until compilation, autotuning and clock ramps are over; return the time taken."""
    begin = time.perf_counter()
    calls = 0
    while calls < 10 or time.perf_counter() - begin < 0.25:
        clock.time(call, inputs[calls % len(inputs)])
        calls += 1
    return (time.perf_counter() - begin) * SECOND
# end: warm-up


# anchor: median
@dataclass(frozen=True)
class Median:
    """A median with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Median:
        ordered = sorted(samples)
        n = len(ordered)
        reach = 1.96 * math.sqrt(n) / 2  # half the samples lie below: a binomial(n, 1/2)
        low, high = math.floor(n / 2 - reach) - 1, math.ceil(n / 2 + reach)
        return cls(statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, n - 1)])

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2 / self.value
# end: median


# anchor: interleave
def sample(
    calls: Sequence[Call], inputs: Sequence[torch.Tensor], clock: Clock, time_cap_s: float = 15
) -> tuple[list[list[float]], str]:
    """Time the calls in turn, in a new random order each round, until the medians are precise."""
    samples: list[list[float]] = [[] for _ in calls]
    begin = time.perf_counter()
    while True:
        for _ in range(5):
            for index in random.sample(range(len(calls)), len(calls)):
                samples[index].append(clock.time(calls[index], random.choice(inputs)))
        rule = stop_rule(samples, time.perf_counter() - begin, time_cap_s)
        if rule is not None:
            return samples, rule
# end: interleave


# anchor: stop
def stop_rule(samples: list[list[float]], elapsed_s: float, time_cap_s: float) -> str | None:
    """Name of the rule that ends the sampling now, or None. The report states it."""
    if elapsed_s >= time_cap_s:
        return "time cap"
    if len(samples[0]) >= 1000:
        return "sample cap"
    enough = len(samples[0]) >= 30 and elapsed_s >= min(0.5, time_cap_s)
    if enough and all(Median.of(each).half_width <= 0.01 for each in samples):
        return "converged"
    return None
# end: stop


# anchor: verdict
def verdict(baseline: Median, control: Median, candidate: Median) -> str:
    """Verdict from intervals. Differences below the baseline's own noise do not count."""
    noise = max(baseline.high, control.high) / min(baseline.low, control.low)
    if candidate.high * noise < baseline.low:
        return "FASTER"
    if candidate.low > baseline.high * noise:
        return "SLOWER"
    if max(candidate.high, baseline.high) <= 1.1 * min(candidate.low, baseline.low):
        return "SAME"
    return "AMBIGUOUS"
# end: verdict


# anchor: compare
def compare(baseline: Call, candidate: Call, inputs: Sequence[torch.Tensor], cap_s: float) -> str:
    clock = Clock(inputs[0].device)
    calls = [baseline, baseline, candidate]  # the second one is the A/A control
    for call in (baseline, candidate):
        print(f"compile and warm-up {warm_up(call, inputs, clock) / SECOND:.2f} s")
    samples, rule = sample(calls, inputs, clock, cap_s)
    medians = [Median.of(each) for each in samples]
    for name, median in zip(("baseline", "control", "candidate"), medians, strict=True):
        print(f"{name:10} {median.value:9.1f} µs, between {median.low:.1f} and {median.high:.1f}")
    print(f"{len(samples[0])} samples each, {rule}; timing nothing takes {clock.overhead():.2f} µs")
    return verdict(*medians)
# end: compare


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    norm = torch.nn.RMSNorm(1024, device=device)
    inputs = [torch.randn(256, 1024, device=device) for _ in range(8)]

    def eager(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * norm.weight

    def twice(x: torch.Tensor) -> torch.Tensor:
        return eager(eager(x))

    print(compare(eager, twice, inputs, cap_s=2))


def check_the_statistics() -> None:
    stalls = [100.0 + i % 7 / 10 for i in range(980)] + [2000.0] * 20
    assert Median.of(stalls).half_width < 0.01 < statistics.pstdev(stalls) / 100
    near, far = Median(100, 99, 101), Median(80, 79, 81)
    assert verdict(near, near, far) == "FASTER"
    assert verdict(near, near, Median(100.5, 99.5, 101.5)) == "SAME"
    assert verdict(near, Median(120, 119, 121), far) == "AMBIGUOUS"
    assert verdict(near, near, Median(100, 80, 120)) == "AMBIGUOUS"


if __name__ == "__main__":
    check_the_statistics()
    main()
