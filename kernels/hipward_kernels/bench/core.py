"""What the benchmarks share: timing in interleaved rounds, statistics, result fields, and command-line options."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.bench.comparison import outcome, ratio
from hipward_kernels.dispatch.registry import EAGER
from hipward_kernels.harness.sampling import StopRule, interleave, median_interval
from hipward_kernels.numerics.distance import distance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from torch import Tensor

    from hipward_kernels.bench.comparison import Ratio, Rounds
    from hipward_kernels.harness.lines import StopReason
    from hipward_kernels.harness.timing import Clock
    from hipward_kernels.numerics.limit import Limit

RESULTS = Path(__file__).parents[2] / "results"
"""Folder of the result files."""

WARM_SECONDS = 0.02

HOST_ROWS = 32
"""Up to this many rows the GPU finishes before the host does, and the host's time is measured too."""
HOST_CALLS = 100
HOST_ROUNDS = 30

RULE = StopRule(time_cap_s=0.5, half_width=0.002, min_seconds=0.01, max_samples=300, round_samples=20)
"""Short rounds: a drift that affects all variants of a round cancels in their ratio."""

HOST_OVER_TORCH_US = 5.0
"""Largest host time of a call beyond that of PyTorch's own op, in microseconds, that needs no note."""

OURS = "hipward"
AGAIN = "hipward, again"
"""Ours a second time: the difference between the two is the noise of the run."""
COPY = "copy of as many bytes"
COMPILE = "torch.compile"


class Timings:
    """Takes and stores samples; the listener of `interleave`."""

    def __init__(self, calls: Mapping[str, Callable[..., Any]], buffers: Sequence[Sequence[Any]], clock: Clock) -> None:
        self.ms: dict[str, list[float]] = {name: [] for name in calls}
        self.rounds: dict[str, Rounds] = {name: [] for name in calls}
        self.stops: dict[str, StopReason] = {}
        self._calls = calls
        self._buffers = buffers
        self._clock = clock

    def take(self, name: str, count: int) -> list[float]:
        """Takes `count` samples of one variant, in milliseconds, on the buffers in turn."""
        arguments = [self._buffers[index % len(self._buffers)] for index in range(count)]
        with torch.no_grad():
            self._calls[name](*arguments[0])
            return self._clock.samples(self._calls[name], arguments)[0]

    def samples(self, variant: str, round_: int, ms: Sequence[float]) -> None:  # noqa: ARG002 - a `Listener`
        """See `sampling.Listener`."""
        self.ms[variant].extend(ms)
        self.rounds[variant].append(list(ms))

    def sampled(self, variant: str, stop: StopReason) -> None:
        """See `sampling.Listener`."""
        self.stops[variant] = stop


def timings(
    calls: Mapping[str, Callable[..., Any]], buffers: Sequence[Sequence[Any]], clock: Clock, rule: StopRule
) -> Timings:
    """Times calls in interleaved rounds, after a warm-up of each, on the buffers in turn."""
    taken = Timings(calls, buffers, clock)
    interleave(
        {name: warm(call, buffers[0], buffers[0][0].device) for name, call in calls.items()},
        taken.take,
        rule,
        random.Random(0),  # noqa: S311 - only shuffles
        taken,
        lambda: None,
    )
    return taken


class Summary:
    """Statistics of one case, and the result fields that follow from them."""

    def __init__(
        self, taken: Timings, host: Mapping[str, float], torch_op: str, not_rivals: Collection[str] = ()
    ) -> None:
        """Computes the statistics.

        Args:
            taken: Samples of every variant.
            host: Microseconds of host time for each variant; empty if not measured.
            torch_op: Name of the variant that is PyTorch's own op.
            not_rivals: Further variants that ours is not compared with.
        """
        self.medians = {name: median_interval(ms)[0] for name, ms in taken.ms.items()}
        others = [name for name in self.medians if name not in (OURS, AGAIN, *not_rivals)]
        self.best = min(others, key=lambda name: self.medians[name])
        """The fastest rival."""
        self._taken = taken
        self._host = host
        self._torch_op = torch_op
        self._against: Ratio = ratio(taken.rounds[self.best], taken.rounds[OURS])
        self._noise = ratio(taken.rounds[AGAIN], taken.rounds[OURS]).noise

    def fields(self, name: str, bytes_moved: int) -> dict[str, Any]:
        """The result fields that every benchmark has, for one variant."""
        middle, low, high = median_interval(self._taken.ms[name])
        ours, host = name == OURS, self._host
        return {
            "variant": name,
            "median_ms": middle,
            "ci_low_ms": low,
            "ci_high_ms": high,
            "samples": len(self._taken.ms[name]),
            "stop": self._taken.stops[name],
            "gigabytes_per_second": bytes_moved / middle / 1e6,
            "speedup": self.medians[EAGER] / middle,
            "against_best": self.medians[self.best] / middle,
            "against_low": self._against.low if ours else None,
            "against_high": self._against.high if ours else None,
            "noise": self._noise if ours else None,
            "outcome": outcome(self._against, self._noise) if ours else "",
            "host_us": host.get(name),
            "host_over_torch_us": host[OURS] - host[self._torch_op] if ours and host else None,
            "note": "",
        }


def host_note(host_over_torch_us: float | None) -> list[str]:
    """A sentence if the host takes much longer for our call than for PyTorch's own op."""
    if host_over_torch_us is None or host_over_torch_us <= HOST_OVER_TORCH_US:
        return []
    return [f"the host takes {host_over_torch_us:.1f} µs more than for PyTorch's own op"]


def check_errors(
    case: object, outputs: Iterable[tuple[str, Sequence[Tensor]]], expected: Sequence[Tensor], limit: Limit
) -> None:
    """Ends the run if a variant is wrong, because its time would mean nothing.

    Args:
        case: For the message.
        outputs: Name and outputs of each variant; `eager` first.
        expected: The definition's outputs in float64.
        limit: Limit of the errors.
    """
    eager: list[tuple[torch.dtype, float]] = []
    for name, tensors in outputs:
        apart = [distance(x, wanted) for x, wanted in zip(tensors, expected, strict=True)]
        eager = eager or [(x.dtype, each.rms) for x, each in zip(tensors, apart, strict=True)]
        for each, (dtype, eager_error) in zip(apart, eager, strict=True):
            allowed = limit.allowed(dtype, eager_error, each.expected_rms)
            if not each.rms <= allowed:
                sys.exit(f"{name} of {case}: root mean square error {each.rms:.3g}, {allowed:.3g} is allowed")


def warm(call: Callable[..., Any], arguments: Sequence[Any], device: torch.device) -> float:
    """Calls until one-time work is done; returns the approximate duration of a call in seconds."""
    started, calls = perf_counter(), 0
    while (passed := perf_counter() - started) < WARM_SECONDS:
        with torch.no_grad():
            call(*arguments)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
    return passed / calls


def host_microseconds(calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Any]) -> dict[str, float]:
    """Host time of calls whose GPU work is shorter: for each, the shortest of several interleaved rounds."""
    best = dict.fromkeys(calls, float("inf"))
    with torch.no_grad():
        for _ in range(HOST_ROUNDS):
            for name, call in calls.items():
                torch.cuda.synchronize()
                started = perf_counter()
                for _ in range(HOST_CALLS):
                    call(*arguments)
                best[name] = min(best[name], (perf_counter() - started) / HOST_CALLS * 1e6)
    torch.cuda.synchronize()
    return best


def call_each(calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Any]) -> None:
    """Calls each variant once, so that it is compiled."""
    with torch.no_grad():
        for call in calls.values():
            call(*arguments)


def parser(module: str, description: str, results: Path) -> argparse.ArgumentParser:
    """A parser with the options that the benchmarks share."""
    made = argparse.ArgumentParser(prog=f"python -m hipward_kernels.{module}", description=description)
    made.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    made.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    made.add_argument("--time-cap", type=float, default=RULE.time_cap_s, help="most seconds of sampling for a variant")
    made.add_argument("--op", help="only these, separated by commas")
    made.add_argument("--part", default="1/1", help="2/8: the second of eight parts of the cases")
    made.add_argument("--compile-only", action="store_true", help="fill the compilers' caches, and measure nothing")
    made.add_argument("--results", type=Path, default=results, help="CSV to append to")
    return made


def device_of(options: argparse.Namespace, made: argparse.ArgumentParser) -> torch.device:
    """The device of the command line; ends the program with a message if it is a GPU and there is none."""
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        made.error("there is no GPU here; --device cpu measures on the processor")
    return device


def part_of(options: argparse.Namespace, chosen: Sequence[Any]) -> Sequence[Any]:
    """The cases that `--part` selects."""
    part, parts = (int(number) for number in options.part.split("/"))
    return chosen[part - 1 :: parts]
