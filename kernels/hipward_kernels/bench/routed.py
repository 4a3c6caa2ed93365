"""Benchmark of what is routed: `python -m hipward_kernels.bench.routed --device cuda`.

Like `ops.py`: each variant is checked against the definition in float64, then all are timed in interleaved rounds.
Matrix products are limited by the roofline and not by a copy's bandwidth, so rows go to a file with columns for that.
The cases are in `routed_cases.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.bench.core import (
    AGAIN,
    COMPILE,
    HOST_ROWS,
    OURS,
    RESULTS,
    RULE,
    Summary,
    call_each,
    check_errors,
    device_of,
    host_microseconds,
    host_note,
    parser,
    part_of,
    timings,
)
from hipward_kernels.bench.perftest import argument_sets, clock_of
from hipward_kernels.bench.results import Conditions, append_rows, conditions_of
from hipward_kernels.bench.routed_cases import SIZES, RoutedCase, cases
from hipward_kernels.dispatch.registry import EAGER
from hipward_kernels.gpu.facts import product_named
from hipward_kernels.gpu.roofline import floor
from hipward_kernels.harness.environment import environment
from hipward_kernels.numerics.limit import Limit
from hipward_kernels.numerics.nested import tensors
from hipward_kernels.numerics.sums import LongestSum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock


@dataclass(frozen=True)
class Routed:
    """One implementation of a routed part of a model at one shape. Fields of `results.Measurement` mean the same."""

    op: str
    part: str
    variant: str
    route: str
    """The route of ours."""
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
    """The limit of the roofline, `memory` or `compute`; empty for a device that `gpus.toml` does not have."""
    roofline_share: float | None
    """Roofline time over the median."""
    speedup: float
    against_best: float
    """Median of the fastest rival of the same run, eager included, over this median."""
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
    """The implementations to compare; `eager` first."""
    compiled = torch.compile(case.eager, dynamic=False)
    return {EAGER: case.eager, COMPILE: compiled, **case.rivals, OURS: case.ours, AGAIN: case.ours}


def check(case: RoutedCase, calls: Mapping[str, Callable[..., Any]], arguments: Sequence[torch.Tensor]) -> None:
    """Ends the run if an implementation is wrong; see `core.check_errors`."""
    with LongestSum() as sums:
        expected = tensors(case.definition(*arguments))
    got = ((name, tensors(call(*arguments))) for name, call in calls.items())
    check_errors(case, got, expected, Limit(sums.length, case.dtype))


def measure(case: RoutedCase, clock: Clock, rule: StopRule) -> list[Routed]:
    """Checks and times every implementation of a case."""
    calls = implementations(case)
    buffers = argument_sets(case.arguments)
    with torch.no_grad():
        check(case, calls, buffers[0])
    taken = timings(calls, buffers, clock, rule)
    device = buffers[0][0].device
    host: dict[str, float] = {}
    if case.rows <= HOST_ROWS and device.type == "cuda":
        host = host_microseconds(calls, buffers[0])
    summary = Summary(taken, host, case.torch_op)
    product = product_named(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    least = None if product is None else floor(product, case.dtype, case.bytes_moved, case.flops)
    measured = []
    for name, median_ms in summary.medians.items():
        ours = name == OURS
        row = Routed(
            op=case.op,
            part=case.part,
            route=case.route(*buffers[0]) if ours else "",
            shape=case.shape,
            dtype=str(case.dtype).removeprefix("torch."),
            bytes_moved=case.bytes_moved,
            flops=case.flops,
            teraflops=case.flops / median_ms / 1e9,
            bound="" if least is None else least.bound,
            roofline_share=None if least is None else least.seconds * 1e3 / median_ms,
            **summary.fields(name, case.bytes_moved),
        )
        measured.append(replace(row, note=note(row, summary.best, summary.medians)) if ours else row)
    return measured


def note(ours: Routed, best: str, medians: Mapping[str, float]) -> str:
    """Explains a row of ours that is slower than the fastest rival or has a long host time; else empty."""
    sentences = []
    less = (ours.median_ms - medians[best]) * 1e3
    if ours.outcome in ("SLOWER", "AMBIGUOUS"):
        sentences.append(f"{best} takes {less:.2f} µs less" if less > 0 else f"{best} cannot be told apart")
    return "; ".join([*sentences, *host_note(ours.host_over_torch_us)])


def main() -> None:
    """Entry point."""
    options_of = parser("bench.routed", "Measures what is routed.", RESULTS / "routed.csv")
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
