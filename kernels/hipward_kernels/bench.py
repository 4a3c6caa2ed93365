"""Measures the ops of this package: `python -m hipward_kernels.bench --device cuda`.

Each op's implementations are checked against its float64 reference, then timed in interleaved rounds by the harness's
own clock and stop rule, beside a copy of memory. Rows go to the results file (`results.py`).
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hipward_kernels.harness.distance import distance, root_mean_square
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.precision import ERROR_RATIO, tolerance
from hipward_kernels.harness.sampling import StopRule, interleave, median_interval
from hipward_kernels.harness.timing import clock_for
from hipward_kernels.ops import rmsnorm as rmsnorm_op
from hipward_kernels.ops import silu_mul as silu_mul_op
from hipward_kernels.ops.rmsnorm import OP as RMSNORM
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.registry import EAGER, disabled
from hipward_kernels.results import Measurement, append, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.lines import StopReason
    from hipward_kernels.harness.timing import Clock

EPS = 1e-6
SHAPES = {
    "rmsnorm": [(2048, 4096), (16384, 4096), (16384, 8192), (4096, 16384), (2048, 65536)],
    "silu_mul": [(2048, 4096), (16384, 4096), (16384, 8192)],
}
"""Rows and columns of language models, and one row that is too long to be held in registers."""

RESULTS = Path(__file__).parent.parent / "results" / "results.csv"
BUFFERS = 3
WARM_SECONDS = 0.25


def plain_rmsnorm(x: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm as most models write it, in several kernels: the baseline."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * weight


def plain_silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """SiLU×mul as most models write it, in two kernels: the baseline."""
    return F.silu(gate) * up


@dataclass(frozen=True)
class Case:
    """One op at one shape."""

    op: str
    shape: tuple[int, int]
    dtype: torch.dtype
    device: torch.device

    def arguments(self) -> tuple[Tensor, Tensor]:
        """Fresh random arguments."""
        x = torch.randn(self.shape, dtype=self.dtype, device=self.device)
        second = (self.shape[1],) if self.op == "rmsnorm" else self.shape
        return x, torch.randn(second, dtype=self.dtype, device=self.device)

    def reference(self, first: Tensor, second: Tensor) -> Tensor:
        """The op's definition in float64."""
        function = rmsnorm_op if self.op == "rmsnorm" else silu_mul_op
        with disabled("triton"):
            return function(first.double(), second.double())

    def bytes_moved(self) -> int:
        """Each input read once and each output written once."""
        elements = self.shape[0] * self.shape[1]
        moved = 2 * elements + self.shape[1] if self.op == "rmsnorm" else 3 * elements
        return moved * self.dtype.itemsize

    def implementations(self) -> dict[str, Callable[..., Any]]:
        """What is compared; `eager` first."""
        torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
        if self.op == "rmsnorm":
            known: dict[str, Callable[..., Any]] = {
                "eager": plain_rmsnorm,
                "F.rms_norm": lambda x, weight: F.rms_norm(x, x.shape[-1:], weight, EPS),
                "torch.compile": torch.compile(plain_rmsnorm),
            }
            op, run = RMSNORM, lambda x, weight: rmsnorm_op(x, weight, EPS)
        else:
            known = {"eager": plain_silu_mul, "torch.compile": torch.compile(plain_silu_mul)}
            op, run = SILU_MUL, silu_mul_op
        probe = torch.empty(1, dtype=self.dtype, device=self.device)
        fastest = next(tier for tier, refusal in op.refusals(probe).items() if refusal is None)
        return known if fastest == EAGER else {**known, f"hipward {fastest}": run}


def measure(case: Case, clock: Clock, rule: StopRule, copy_rate: float) -> list[Measurement]:
    """Checks and times every implementation of a case."""
    implementations = case.implementations()
    buffers = [case.arguments() for _ in range(BUFFERS)]
    check(case, implementations, buffers[0])
    taken = Timings(implementations, buffers, clock)
    interleave(
        {name: warm(call, buffers[0], case.device) for name, call in implementations.items()},
        taken.take,
        rule,
        random.Random(0),  # noqa: S311 - only shuffles
        taken,
        lambda: None,
    )
    eager = median_interval(taken.ms["eager"])[0]
    results = []
    for name, samples in taken.ms.items():
        middle, low, high = median_interval(samples)
        rate = case.bytes_moved() / (middle * 1e6)
        results.append(
            Measurement(
                op=case.op,
                variant=name,
                shape="x".join(map(str, case.shape)),
                dtype=str(case.dtype).removeprefix("torch."),
                median_ms=middle,
                ci_low_ms=low,
                ci_high_ms=high,
                samples=len(samples),
                stop=taken.stops[name],
                gigabytes_per_second=rate,
                copy_share=rate / copy_rate,
                speedup=eager / middle,
            )
        )
    return results


class Timings:
    """Takes and keeps samples; tells `interleave` what it needs to know."""

    def __init__(self, calls: Mapping[str, Callable[..., Any]], buffers: Sequence[Sequence[Any]], clock: Clock) -> None:
        self.ms: dict[str, list[float]] = {name: [] for name in calls}
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

    def sampled(self, variant: str, stop: StopReason) -> None:
        """See `sampling.Listener`."""
        self.stops[variant] = stop


def check(case: Case, implementations: Mapping[str, Callable[..., Any]], arguments: Sequence[Tensor]) -> None:
    """Stops the run when an implementation is wrong: its time would mean nothing."""
    expected = case.reference(*arguments)
    slack = tolerance(case.dtype) * root_mean_square(expected)
    allowed = ERROR_RATIO * distance(implementations["eager"](*arguments), expected, 0.0).rms + slack
    for name, call in implementations.items():
        error = distance(call(*arguments), expected, 0.0).rms
        if error > allowed:
            sys.exit(f"{case.op} {name} {case.shape}: root mean square error {error:.3g}, {allowed:.3g} is allowed")


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


def copy_rate(clock: Clock, device: torch.device) -> float:
    """Bytes read and written by a device-to-device copy of a large tensor, in 10**9 bytes a second."""
    size = 2**31 if device.type == "cuda" else 2**27
    source, target = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    times, _ = clock.samples(target.copy_, [(source,)] * 20)
    return 2 * size / (median_interval(times)[0] * 1e6)


def shape_from(text: str) -> tuple[int, int]:
    """Reads `16384x4096`."""
    rows_, columns = text.split("x")
    return int(rows_), int(columns)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.bench", description="Measures the ops.")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--time-cap", type=float, default=5.0, help="most seconds of sampling for a variant")
    parser.add_argument("--shape", help="ROWSxCOLUMNS instead of the whole grid")
    parser.add_argument("--results", type=Path, default=RESULTS, help="CSV to append to")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("there is no GPU here; --device cpu measures on the processor")
    clock, rule = clock_for(device), StopRule(time_cap_s=options.time_cap)
    conditions = environment(device, clock, rule)
    rate = copy_rate(clock, device)
    print(f"{conditions.device_name}, PyTorch {conditions.torch}, copy {rate:.0f} GB/s, {conditions.cache}")
    print(f"{'op':<10}{'shape':<13}{'variant':<17}{'median µs':>10}{'±':>6}{'GB/s':>7}{'of copy':>8}{'× eager':>9}")
    for op, grid in SHAPES.items():
        for shape in [shape_from(options.shape)] if options.shape else grid:
            case = Case(op, shape, getattr(torch, options.dtype), device)
            measured = measure(case, clock, rule, rate)
            append(options.results, rows(measured, conditions))
            for m in measured:
                half = (m.ci_high_ms - m.ci_low_ms) / (2 * m.median_ms)
                print(
                    f"{m.op:<10}{m.shape:<13}{m.variant:<17}{m.median_ms * 1e3:>10.1f}{half:>6.1%}"
                    f"{m.gigabytes_per_second:>7.0f}{m.copy_share:>8.0%}{m.speedup:>9.2f}"
                )


if __name__ == "__main__":
    main()
