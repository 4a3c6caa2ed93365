"""Benchmark of this package's ops: `python -m hipward_kernels.bench --device cuda`.

Each op's implementations are checked against its float64 definition, then timed in interleaved rounds with the
harness's stop rule, beside a copy of as many bytes. If a rival is not installed, the run ends before it begins, unless
the rival is left out with `--without liger`. Rows are appended to the results file (`results.py`). The cases are in
`op_cases.py`; the sweep that searches launch parameters is in `tuner.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.bench.core import (
    AGAIN,
    COMPILE,
    COPY,
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
from hipward_kernels.bench.op_cases import (
    CLAIMED,
    ROW_OPS,
    Case,
    cases,
)
from hipward_kernels.bench.perftest import argument_sets, clock_of, copy_rate
from hipward_kernels.bench.results import Measurement, append, rows
from hipward_kernels.bench.rivals import LIGER_HELP, OPTIONS, PACKAGES, QUACK_HELP, MissingRivalError
from hipward_kernels.dispatch.registry import EAGER, only
from hipward_kernels.gpu.facts import product_named
from hipward_kernels.harness.environment import environment
from hipward_kernels.numerics.limit import Limit
from hipward_kernels.numerics.sums import LongestSum

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hipward_kernels.bench.core import Timings
    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import Clock

CHECKED_ROWS = 64
"""Rows at each end of a result that are compared with the definition: all of a large one would not fit in float64."""

COPY_WANTED = 0.95
"""Bandwidth below this share of a large copy's needs a note."""


def implementations(case: Case, without: Collection[str] = ()) -> dict[str, Callable[..., Any]]:
    """The implementations to compare; `eager` first. `without` names rivals to leave out."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    compiled = torch.compile(case.eager(), dynamic=False)
    rivals = dict(case.rivals(without))
    return {EAGER: case.eager(), COMPILE: compiled, **rivals, OURS: case.ours(), AGAIN: case.ours()}


def rivals_of(case: Case, without: Collection[str]) -> str:
    """Names of the rivals, with the versions of those that are packages; and of those left out."""
    packages = [package.name for package in PACKAGES]
    own = [name for name, _ in case.rivals(without) if name not in packages]
    return ", ".join([COMPILE, *own, *case.packages(without)])


def measure(case: Case, clock: Clock, rule: StopRule, rate: float, without: Collection[str] = ()) -> list[Measurement]:
    """Checks and times every implementation of a case.

    Args:
        case: The op and its shape.
        clock: Times each call.
        rule: When to stop.
        rate: Bandwidth of a large copy, in 10**9 bytes per second.
        without: Rivals to leave out.
    """
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


def _measurements(case: Case, taken: Timings, rate: float, host: Mapping[str, float], rivals: str) -> list[Measurement]:
    summary = Summary(taken, host, case.torch_op(), not_rivals=(COPY, EAGER))
    product = product_named(torch.cuda.get_device_name(case.device)) if case.device.type == "cuda" else None
    bandwidth = product.bytes_per_second if product else None
    measured = []
    for name in taken.ms:
        ours = name == OURS
        fields = summary.fields(name, case.bytes_moved())
        gigabytes = fields["gigabytes_per_second"]
        row = Measurement(
            op=case.op,
            shape="x".join(map(str, case.shape)),
            dtype=str(case.dtype).removeprefix("torch."),
            copy_share=gigabytes / rate,
            same_copy_share=summary.medians[COPY] / summary.medians[name],
            peak_share=None if bandwidth is None else gigabytes * 1e9 / bandwidth,
            claimed=CLAIMED.get(case.op) if ours else None,
            rivals=rivals,
            **fields,
        )
        measured.append(replace(row, note=note(row, summary.best, summary.medians, rate)) if ours else row)
    return measured


def note(ours: Measurement, best: str, medians: Mapping[str, float], rate: float) -> str:
    """Explains a row of ours below 95 % of copy, behind the best rival, or with a long host time; else empty."""
    sentences = []
    copy = ours.same_copy_share * ours.median_ms if ours.same_copy_share else 0.0
    if ours.copy_share < COPY_WANTED:
        same = ours.copy_share / (ours.same_copy_share or 1.0)
        sentences.append(
            f"a plain copy of as many bytes takes {copy * 1e3:.2f} µs: {same:.0%} of the large copy's {rate:.0f} GB/s"
        )
    if ours.outcome in ("SLOWER", "AMBIGUOUS"):
        less, itself = ours.median_ms - medians[best], (ours.noise or 1.0) - 1
        sentences.append(
            f"{best} takes {less * 1e3:.2f} µs less, {less / ours.median_ms:.1%}; ours varies by {itself:.1%}"
            if less > 0
            else f"{best} cannot be told apart"
        )
    return "; ".join([*sentences, *host_note(ours.host_over_torch_us)])


def outputs(result: Any, rows_: int) -> list[Tensor]:
    """The outputs of a call; of long ones with a case's rows, the first and last rows."""
    tensors = list(result) if isinstance(result, tuple | list) else [result]
    return [
        torch.cat([x[:CHECKED_ROWS], x[-CHECKED_ROWS:]]) if x.dim() == 2 and rows_ > 2 * CHECKED_ROWS else x
        for x in tensors
    ]


def definition(case: Case, arguments: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of the op's definition for the same arguments, in float64."""
    long = case.shape[0] > 2 * CHECKED_ROWS
    by_rows = case.op in ROW_OPS
    wide = []
    for x in arguments:
        part = torch.cat([x[:CHECKED_ROWS], x[-CHECKED_ROWS:]]) if long and by_rows and x.dim() == 2 else x
        wide.append(part.double() if part.is_floating_point() else part)
    with only(EAGER):
        return outputs(case.ours()(*wide), 0)


def check(case: Case, calls: Mapping[str, Callable[..., Any]], arguments: Sequence[Tensor]) -> None:
    """Ends the run if an implementation is wrong; see `core.check_errors`."""
    with LongestSum() as sums:
        expected = definition(case, arguments)
    got = ((name, outputs(call(*arguments), case.shape[0])) for name, call in calls.items())
    check_errors(case, got, expected, Limit(sums.length, case.dtype))


def shape_from(text: str) -> tuple[int, int]:
    """Parses `16384x4096`."""
    rows_, columns = text.split("x")
    return int(rows_), int(columns)


def selected(options: argparse.Namespace, device: torch.device) -> Sequence[Case]:
    """The cases that the command line selects."""
    chosen = [
        case
        for case in cases(getattr(torch, options.dtype), device)
        if options.op is None or case.op in options.op.split(",")
    ]
    if options.shape:
        ops = dict.fromkeys(case.op for case in chosen if case.op in ROW_OPS)
        chosen = [Case(op, shape, getattr(torch, options.dtype), device) for op in ops for shape in options.shape]
    return part_of(options, chosen)


def main() -> None:
    """Entry point."""
    made = parser("bench", "Measures the ops.", RESULTS / "results.csv")
    made.epilog = f"{LIGER_HELP} {QUACK_HELP}"
    made.add_argument(
        "--shape",
        type=shape_from,
        action="append",
        help="ROWSxCOLUMNS instead of the whole grid, for the row-wise ops; may be repeated",
    )
    made.add_argument(
        "--without", action="append", default=[], choices=OPTIONS, help="a rival to leave out; its rows say so"
    )
    options = made.parse_args()
    device = device_of(options, made)
    chosen = selected(options, device)
    try:
        # Checked before anything is measured: a comparison without its strongest rival would mislead.
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
