"""Latency of a model: `python -m hipward_kernels.measure.benchmark_inference FILE`.

Each call is timed separately, from before its launch until the device is idle.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.measure import subject
from hipward_kernels.measure.clock import forget_peak_memory, now, peak_memory_bytes, percentile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WARMUP = 10
ITERATIONS = 30


@dataclass(frozen=True)
class Latency:
    """Latency of a call in milliseconds, and memory."""

    mean_ms: float
    std_ms: float
    p50_ms: float
    p95_ms: float
    calls_per_second: float
    """Inverse of the mean latency."""
    peak_memory_bytes: int
    iterations: int

    @property
    def unsteady(self) -> bool:
        """Whether the standard deviation exceeds 10 % of the mean: recompilation, graph breaks or a busy machine."""
        return self.std_ms > 0.1 * self.mean_ms


def inference(
    call: Callable[..., Any],
    arguments: Sequence[Any],
    device: torch.device,
    *,
    warmup: int = WARMUP,
    iterations: int = ITERATIONS,
) -> Latency:
    """Times single calls without gradients.

    Args:
        call: The model.
        arguments: Arguments of every call.
        device: The device of the model.
        warmup: Untimed calls, in which kernels are compiled and tuned, and clocks rise.
        iterations: Timed calls; at least 2.
    """
    times = []
    with torch.no_grad():
        for _ in range(warmup):
            call(*arguments)
        forget_peak_memory(device)
        for _ in range(iterations):
            started = now(device)
            call(*arguments)
            times.append((now(device) - started) * 1e3)
    mean = statistics.fmean(times)
    return Latency(
        mean_ms=mean,
        std_ms=statistics.stdev(times),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        calls_per_second=1e3 / mean,
        peak_memory_bytes=peak_memory_bytes(device),
        iterations=iterations,
    )


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.measure.benchmark_inference", description=__doc__)
    subject.add_arguments(parser)
    subject.add_counts(parser, ITERATIONS, least=2, warmup=WARMUP)
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    model = snippet.build(options.model)
    call = torch.compile(model) if options.compile else model
    latency = inference(call, snippet.inputs(0), snippet.device, warmup=options.warmup, iterations=options.iterations)
    print(json.dumps(asdict(latency), indent=2))
    if latency.unsteady:
        # Standard output is JSON.
        print(
            "The standard deviation is over 10 % of the mean: look for recompilation or another program.",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
