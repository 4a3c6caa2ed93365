"""Measures what is routed: `python -m hipward_kernels.bench_routed --device cuda`.

As `bench.py`: each way is checked against the definition in float64, then all are timed in interleaved rounds. What a
matrix product can reach is no copy's bandwidth but a roofline, so rows go to a file with columns for that. What is
measured is in `bench_routed_cases.py`.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.bench import (
    AGAIN,
    COMPILE,
    HOST_OVER_TORCH_US,
    OURS,
    RULE,
    call_each,
    device_of,
    host_microseconds,
    parser,
    part_of,
    timings,
)
from hipward_kernels.bench_routed_cases import HOST_ROWS, SIZES, RoutedCase, cases
from hipward_kernels.comparison import outcome, ratio
from hipward_kernels.harness.distance import distance, root_mean_square
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.limit import Limit
from hipward_kernels.harness.outputs import tensors
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.harness.sums import LongestSum
from hipward_kernels.perftest import argument_sets, clock_of
from hipward_kernels.registry import EAGER
from hipward_kernels.results import Conditions, append_rows, conditions_of
from hipward_kernels.roofline import floor, peak_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock

RESULTS = Path(__file__).parent.parent / "results" / "routed.csv"


@dataclass(frozen=True)
class Routed:
    """One way to one routed part of a model at one shape. What is named as in `results.Measurement` means the same."""

    op: str
    part: str
    variant: str
    route: str
    """That ours took."""
    shape: str
    dtype: str
    median_ms: float
    ci_low_ms: float
    ci_high_ms: float
    samples: int
    stop: str
    bytes_moved: int
    """Each input and weight read once and each output written once."""
    flops: int
    gigabytes_per_second: float
    teraflops: float
    bound: str
    """What a call cannot be faster than: `memory` or `compute`; empty for a device that is not in `roofline.py`."""
    roofline_share: float | None
    """The time that the data sheet's bandwidth or arithmetic rate allows, whichever is longer, over the median."""
    speedup: float
    against_best: float
    """Median of the fastest other in the same run, eager among them, over this median."""
    against_low: float | None
    against_high: float | None
    noise: float | None
    outcome: str
    host_us: float | None
    host_over_torch_us: float | None
    note: str


@dataclass(frozen=True)
class Row(Conditions, Routed):
    """A measurement, then its conditions."""


COLUMNS = [field.name for field in fields(Row)]


def implementations(case: RoutedCase) -> dict[str, Callable[..., Any]]:
    """What is compared; `eager` first."""
    compiled = torch.compile(case.eager, dynamic=False)
    return {EAGER: case.eager, COMPILE: compiled, **case.rivals, OURS: case.ours, AGAIN: case.ours}


def check(case: RoutedCase, calls: Mapping[str, Callable[..., Any]], arguments: Sequence[torch.Tensor]) -> None:
    """Stops the run when a way is wrong: its time would mean nothing."""
    with LongestSum() as sums:
        exact = tensors(case.definition(*arguments))
    limit = Limit(sums.length, case.dtype)
    errors: dict[str, list[float]] = {}
    for name, call in calls.items():
        errors[name] = [
            distance(got, wanted, 0.0).rms for got, wanted in zip(tensors(call(*arguments)), exact, strict=True)
        ]
        for error, eager, wanted in zip(errors[name], errors[EAGER], exact, strict=True):
            allowed = limit.allowed(case.dtype, eager, root_mean_square(wanted))
            if not error <= allowed:
                sys.exit(f"{name} of {case}: root mean square error {error:.3g}, {allowed:.3g} is allowed")


def measure(case: RoutedCase, clock: Clock, rule: StopRule) -> list[Routed]:
    """Checks and times every way of a case."""
    calls = implementations(case)
    buffers = argument_sets(case.arguments)
    with torch.no_grad():
        check(case, calls, buffers[0])
    taken = timings(calls, buffers, clock, rule)
    device = buffers[0][0].device
    host: dict[str, float] = {}
    if case.rows <= HOST_ROWS and device.type == "cuda":
        host = host_microseconds(calls, buffers[0])
    medians = {name: median_interval(ms)[0] for name, ms in taken.ms.items()}
    best = min((name for name in medians if name not in (OURS, AGAIN)), key=lambda name: medians[name])
    against = ratio(taken.rounds[best], taken.rounds[OURS])
    noise = ratio(taken.rounds[AGAIN], taken.rounds[OURS]).noise
    peak = peak_of(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    least = None if peak is None else floor(peak, case.dtype, case.bytes_moved, case.flops)
    measured = []
    for name, samples in taken.ms.items():
        ours = name == OURS
        middle, low, high = median_interval(samples)
        row = Routed(
            op=case.op,
            part=case.part,
            variant=name,
            route=case.route(*buffers[0]) if ours else "",
            shape=case.shape,
            dtype=str(case.dtype).removeprefix("torch."),
            median_ms=middle,
            ci_low_ms=low,
            ci_high_ms=high,
            samples=len(samples),
            stop=taken.stops[name],
            bytes_moved=case.bytes_moved,
            flops=case.flops,
            gigabytes_per_second=case.bytes_moved / middle / 1e6,
            teraflops=case.flops / middle / 1e9,
            bound="" if least is None else least.bound,
            roofline_share=None if least is None else least.seconds * 1e3 / middle,
            speedup=medians[EAGER] / middle,
            against_best=medians[best] / middle,
            against_low=against.low if ours else None,
            against_high=against.high if ours else None,
            noise=noise if ours else None,
            outcome=outcome(against, noise) if ours else "",
            host_us=host.get(name),
            host_over_torch_us=host[OURS] - host[case.torch_op] if ours and host else None,
            note="",
        )
        measured.append(replace(row, note=note(row, best, medians)) if ours else row)
    return measured


def note(ours: Routed, best: str, medians: Mapping[str, float]) -> str:
    """Where our row falls short of the fastest other or of the host's time."""
    said = []
    less = (ours.median_ms - medians[best]) * 1e3
    if ours.outcome in ("SLOWER", "AMBIGUOUS"):
        said.append(f"{best} takes {less:.2f} µs less" if less > 0 else f"{best} cannot be told apart")
    if ours.host_over_torch_us is not None and ours.host_over_torch_us > HOST_OVER_TORCH_US:
        said.append(f"the host takes {ours.host_over_torch_us:.1f} µs more than for PyTorch's own op")
    return "; ".join(said)


def main() -> None:
    """Entry point."""
    options_of = parser("bench_routed", "Measures what routes.", RESULTS)
    options_of.add_argument("--size", default="8b", choices=list(SIZES), help="of the layer; tiny for a processor")
    options = options_of.parse_args()
    device = device_of(options, options_of)
    made = [
        make
        for op, make in cases(SIZES[options.size], getattr(torch, options.dtype), device)
        if options.op is None or op in options.op.split(",")
    ]
    clock = clock_of(device)
    rule = replace(RULE, time_cap_s=options.time_cap)
    conditions = environment(device, clock, rule)
    print(f"{conditions.device_name}, PyTorch {conditions.torch}, {conditions.cache}")
    for make in part_of(options, made):
        torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
        case = make()
        if options.compile_only:
            call_each(implementations(case), case.arguments())
            continue
        print(f"{case}: {case.bytes_moved / 1e6:.1f} MB, {case.flops / 1e9:.1f} GFLOP")
        measured = measure(case, clock, rule)
        same = asdict(conditions_of(conditions))
        append_rows(options.results, COLUMNS, [Row(**asdict(m), **same) for m in measured])
        for m in measured:
            half = (m.ci_high_ms - m.ci_low_ms) / (2 * m.median_ms)
            share = "" if m.roofline_share is None else f"{m.roofline_share:.0%} of {m.bound}"
            host = "" if m.host_us is None else f"host {m.host_us:.1f} µs"
            print(
                f"  {m.variant:<31}{m.median_ms * 1e3:>9.1f} µs ±{half:.1%} {m.gigabytes_per_second:>6.0f} GB/s"
                f"{m.teraflops:>7.1f} TFLOP/s {share:<15}{m.speedup:>6.2f} × eager {host} {m.route} {m.outcome}",
                flush=True,
            )


if __name__ == "__main__":
    main()
