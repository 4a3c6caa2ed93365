"""Measures the ops of this package: `python -m hipward_kernels.bench --device cuda`.

Each op's implementations are checked against its float64 definition, then timed in interleaved rounds by the harness's
stop rule, beside a copy of as many bytes. A rival that is not installed ends the run before it begins, unless it is
left out (`--without liger`). Rows go to the results file (`results.py`). What is measured is
in `bench_cases.py`; the sweep that finds launch parameters is in `tuner.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.bench_cases import CLAIMED, LIGER, LIGER_HELP, Case, MissingRivalError, cases
from hipward_kernels.comparison import outcome, ratio
from hipward_kernels.harness.distance import distance, root_mean_square
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.limit import Limit
from hipward_kernels.harness.sampling import StopRule, interleave, median_interval
from hipward_kernels.harness.sums import LongestSum
from hipward_kernels.perftest import argument_sets, clock_of, copy_rate
from hipward_kernels.registry import EAGER, only
from hipward_kernels.results import Measurement, append, rows
from hipward_kernels.roofline import peak_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hipward_kernels.comparison import Rounds
    from hipward_kernels.harness.lines import StopReason
    from hipward_kernels.harness.timing import Clock

RESULTS = Path(__file__).parent.parent / "results" / "results.csv"
WARM_SECONDS = 0.02
CHECKED_ROWS = 64
"""Rows at each end of a result that are compared with the definition: all of a large one would not fit in float64."""

HOST_ROWS = 32
"""Up to this many rows the GPU is done before the host is, and the host's time is measured too."""
HOST_CALLS = 100
HOST_ROUNDS = 30

RULE = StopRule(time_cap_s=0.5, half_width=0.002, min_seconds=0.01, max_samples=300, round_samples=20)
"""Short turns: what all variants meet in a round, their ratio does not show."""

COPY_WANTED = 0.95
"""Of what copying a large tensor reaches."""
HOST_OVER_TORCH_US = 5.0
"""What a call may cost the host more than PyTorch's own op."""

OURS = "hipward"
AGAIN = "hipward, again"
"""Ours a second time: how far a variant differs from itself in the run."""
COPY = "copy of as many bytes"
COMPILE = "torch.compile"


def implementations(case: Case, without: Collection[str] = ()) -> dict[str, Callable[..., Any]]:
    """What is compared; `eager` first. `without` names rivals to leave out."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    compiled = torch.compile(case.eager(), dynamic=False)
    rivals = dict(case.rivals(without))
    return {EAGER: case.eager(), COMPILE: compiled, **rivals, OURS: case.ours(), AGAIN: case.ours()}


def rivals_of(case: Case, without: Collection[str]) -> str:
    """What is measured beside ours, with the versions of packages of their own; and what is left out."""
    own = [name for name, _ in case.rivals(without) if name != "Liger"]
    return ", ".join([COMPILE, *own, *case.packages(without)])


def measure(case: Case, clock: Clock, rule: StopRule, rate: float, without: Collection[str] = ()) -> list[Measurement]:
    """Checks and times every implementation of a case."""
    calls = implementations(case, without)
    buffers = argument_sets(case.arguments)
    with torch.no_grad():
        check(case, calls, buffers[0])
    half = case.bytes_moved() // 2
    source, target = (torch.empty(half, dtype=torch.uint8, device=case.device) for _ in range(2))
    calls[COPY] = lambda *_: target.copy_(source)
    taken = timings(calls, buffers, clock, rule)
    host = {}
    if case.shape[0] <= HOST_ROWS and case.device.type == "cuda":
        host = host_microseconds(calls, buffers[0])
    return _measurements(case, taken, rate, host, rivals_of(case, without))


def timings(
    calls: Mapping[str, Callable[..., Any]], buffers: Sequence[Sequence[Any]], clock: Clock, rule: StopRule
) -> Timings:
    """Times calls in interleaved rounds, each warm, on the buffers in turn."""
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


def _measurements(case: Case, taken: Timings, rate: float, host: Mapping[str, float], rivals: str) -> list[Measurement]:
    medians = {name: median_interval(ms)[0] for name, ms in taken.ms.items()}
    best = min((name for name in medians if name not in (OURS, AGAIN, COPY, EAGER)), key=lambda name: medians[name])
    against = ratio(taken.rounds[best], taken.rounds[OURS])
    noise = ratio(taken.rounds[AGAIN], taken.rounds[OURS]).noise
    peak = peak_of(torch.cuda.get_device_name(case.device)) if case.device.type == "cuda" else None
    measured = []
    for name, samples in taken.ms.items():
        ours = name == OURS
        middle, low, high = median_interval(samples)
        bytes_per_ms = case.bytes_moved() / middle
        row = Measurement(
            op=case.op,
            variant=name,
            shape="x".join(map(str, case.shape)),
            dtype=str(case.dtype).removeprefix("torch."),
            median_ms=middle,
            ci_low_ms=low,
            ci_high_ms=high,
            samples=len(samples),
            stop=taken.stops[name],
            gigabytes_per_second=bytes_per_ms / 1e6,
            copy_share=bytes_per_ms / 1e6 / rate,
            speedup=medians[EAGER] / middle,
            same_copy_share=medians[COPY] / middle,
            peak_share=None if peak is None else bytes_per_ms * 1e3 / peak.bytes_per_second,
            against_best=medians[best] / middle,
            against_low=against.low if ours else None,
            against_high=against.high if ours else None,
            noise=noise if ours else None,
            outcome=outcome(against, noise) if ours else "",
            claimed=CLAIMED.get(case.op) if ours else None,
            host_us=host.get(name),
            host_over_torch_us=host[OURS] - host[case.torch_op()] if ours and host else None,
            note="",
            rivals=rivals,
        )
        measured.append(replace(row, note=note(row, best, medians, rate)) if ours else row)
    return measured


def note(ours: Measurement, best: str, medians: Mapping[str, float], rate: float) -> str:
    """Where our row falls short of 95 % of copy, of the best rival or of the host's time, and what the run says."""
    said = []
    copy = ours.same_copy_share * ours.median_ms if ours.same_copy_share else 0.0
    if ours.copy_share < COPY_WANTED:
        same = ours.copy_share / (ours.same_copy_share or 1.0)
        said.append(
            f"a plain copy of as many bytes takes {copy * 1e3:.2f} µs: {same:.0%} of the large copy's {rate:.0f} GB/s"
        )
    if ours.outcome in ("SLOWER", "AMBIGUOUS"):
        less, itself = ours.median_ms - medians[best], (ours.noise or 1.0) - 1
        said.append(
            f"{best} takes {less * 1e3:.2f} µs less, {less / ours.median_ms:.1%}; ours varies by {itself:.1%}"
            if less > 0
            else f"{best} cannot be told apart"
        )
    if ours.host_over_torch_us is not None and ours.host_over_torch_us > HOST_OVER_TORCH_US:
        said.append(f"the host takes {ours.host_over_torch_us:.1f} µs more than for PyTorch's own op")
    return "; ".join(said)


class Timings:
    """Takes and keeps samples; tells `interleave` what it needs to know."""

    def __init__(self, calls: Mapping[str, Callable[..., Any]], buffers: Sequence[Sequence[Any]], clock: Clock) -> None:
        self.ms: dict[str, list[float]] = {name: [] for name in calls}
        self.rounds: dict[str, Rounds] = {name: [] for name in calls}
        self.stops: dict[str, StopReason] = {}
        self._calls = calls
        self._buffers = buffers
        self._clock = clock

    def take(self, name: str, count: int) -> list[float]:
        """Samples of one implementation, on the buffers in turn."""
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


def outputs(result: Any, rows_: int) -> list[Tensor]:
    """The results of a call, or the ends of those that have a case's rows and are long."""
    tensors = list(result) if isinstance(result, tuple | list) else [result]
    return [
        torch.cat([x[:CHECKED_ROWS], x[-CHECKED_ROWS:]]) if x.dim() == 2 and rows_ > 2 * CHECKED_ROWS else x
        for x in tensors
    ]


def definition(case: Case, arguments: Sequence[Tensor]) -> list[Tensor]:
    """What the op's definition gives for the same arguments, in float64."""
    long = case.shape[0] > 2 * CHECKED_ROWS
    by_rows = case.op in ("rmsnorm", "add_rmsnorm", "silu_mul", "gelu_mul")
    wide = []
    for x in arguments:
        part = torch.cat([x[:CHECKED_ROWS], x[-CHECKED_ROWS:]]) if long and by_rows and x.dim() == 2 else x
        wide.append(part.double() if part.is_floating_point() else part)
    with only(EAGER):
        return outputs(case.ours()(*wide), 0)


def check(case: Case, calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Tensor]) -> None:
    """Stops the run when an implementation is wrong: its time would mean nothing."""
    with LongestSum() as sums:
        expected = definition(case, arguments)
    limit = Limit(sums.length, case.dtype)
    eager = outputs(calls[EAGER](*arguments), case.shape[0])
    for name, call in calls.items():
        got = outputs(call(*arguments), case.shape[0])
        for mine, theirs, wanted in zip(got, eager, expected, strict=True):
            allowed = limit.allowed(theirs.dtype, distance(theirs, wanted, 0.0).rms, root_mean_square(wanted))
            error = distance(mine, wanted, 0.0).rms
            if not error <= allowed:
                sys.exit(f"{name} of {case}: root mean square error {error:.3g}, {allowed:.3g} is allowed")


def warm(call: Callable[..., Any], arguments: Sequence[Any], device: torch.device) -> float:
    """Calls until one-time work is over; about how long a call takes, in seconds."""
    started, calls = perf_counter(), 0
    while (passed := perf_counter() - started) < WARM_SECONDS:
        with torch.no_grad():
            call(*arguments)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
    return passed / calls


def host_microseconds(calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Any]) -> dict[str, float]:
    """How long the host takes for a call whose GPU work is shorter: the least of several rounds, taken in turns."""
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


def shape_from(text: str) -> tuple[int, int]:
    """Reads `16384x4096`."""
    rows_, columns = text.split("x")
    return int(rows_), int(columns)


def selected(options: argparse.Namespace, device: torch.device) -> Sequence[Case]:
    """The cases that the command line asks for."""
    chosen = [
        case
        for case in cases(getattr(torch, options.dtype), device)
        if options.op is None or case.op in options.op.split(",")
    ]
    if options.shape:
        shape = shape_from(options.shape)
        ops = dict.fromkeys(case.op for case in chosen if case.op not in ("rope", "qkv_rope", "cross_entropy"))
        chosen = [Case(op, shape, getattr(torch, options.dtype), device) for op in ops]
    return part_of(options, chosen)


def call_each(calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Any]) -> None:
    """Calls each once, so that it is compiled."""
    with torch.no_grad():
        for call in calls.values():
            call(*arguments)


def parser(module: str, description: str, results: Path) -> argparse.ArgumentParser:
    """The options that the benches share."""
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
    """The device that is asked for; ends the program with a sentence where there is no GPU."""
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        made.error("there is no GPU here; --device cpu measures on the processor")
    return device


def part_of(options: argparse.Namespace, chosen: Sequence[Any]) -> Sequence[Any]:
    """The cases that `--part` asks for."""
    part, parts = (int(number) for number in options.part.split("/"))
    return chosen[part - 1 :: parts]


def main() -> None:
    """Entry point."""
    made = parser("bench", "Measures the ops.", RESULTS)
    made.epilog = LIGER_HELP
    made.add_argument("--shape", help="ROWSxCOLUMNS instead of the whole grid, for the row-wise ops")
    made.add_argument(
        "--without", action="append", default=[], choices=[LIGER], help="a rival to leave out; its rows say so"
    )
    options = made.parse_args()
    device = device_of(options, made)
    chosen = selected(options, device)
    try:
        # Before anything is measured: a comparison that lacks its strongest rival is worth nothing.
        for case in chosen:
            dict(case.rivals(options.without))
    except MissingRivalError as error:
        made.error(str(error))
    if options.compile_only:
        for case in chosen:
            call_each(implementations(case, options.without), case.arguments())
        return
    rule = replace(RULE, time_cap_s=options.time_cap)
    clock = clock_of(device)
    conditions = environment(device, clock, rule)
    rate = copy_rate(device)
    print(f"{conditions.device_name}, PyTorch {conditions.torch}, copy {rate:.0f} GB/s, {conditions.cache}")
    print(
        f"{'op':<14}{'shape':<13}{'variant':<23}{'µs':>9}{'±':>6}{'GB/s':>6}{'of copy':>8}{'× eager':>8}{'host µs':>8}"
    )
    for case in chosen:
        measured = measure(case, clock, rule, rate, options.without)
        append(options.results, rows(measured, conditions))
        for m in measured:
            half = (m.ci_high_ms - m.ci_low_ms) / (2 * m.median_ms)
            host = "" if m.host_us is None else f"{m.host_us:.1f}"
            print(
                f"{m.op:<14}{m.shape:<13}{m.variant:<23}{m.median_ms * 1e3:>9.1f}{half:>6.1%}"
                f"{m.gigabytes_per_second:>6.0f}{m.copy_share:>8.0%}{m.speedup:>8.2f}{host:>8} {m.outcome}",
                flush=True,
            )


if __name__ == "__main__":
    main()
