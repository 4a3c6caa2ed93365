"""Compares a result with another; exit code 1 if it is too slow.

`… performance_regression_test --baseline-results v1/metrics.json --current-results v2/metrics.json --min-speedup 1.3`,
both written by `tiny_llama_v*` or `run_pytorch_profiler` with `--profile-dir`. The speed-up counts as reached only when
the slow end of its interval reaches it, and only between results of the same device, model, batch and precision.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.workshop.records import Record, load

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME_SUBJECT = ("size", "batch_size", "sequence_length", "precision")
SAME_CONDITIONS = ("device_name", "arch", "clock", "cache", "threads")
MIN_SAMPLES = 6
"""Fewer give no 95 % interval of a median: their smallest and largest hold it with 2 * 0.5**n less than certainty."""

LOSS_TOLERANCE = 0.05
"""The largest relative difference of the last loss between runs that train alike."""


@dataclass(frozen=True)
class Verdict:
    """Whether the current result passes, with the reasons if it does not."""

    speedup: float
    low: float
    """If the baseline was as fast, and the current result as slow, as their intervals allow."""
    high: float
    failures: list[str]


def judge(baseline: Record, current: Record, min_speedup: float, max_memory_growth: float) -> Verdict:
    """Compares two results.

    Raises:
        ValueError: They cannot be compared.
    """
    different = [
        f"{name}: {getattr(baseline.subject, name)} and {getattr(current.subject, name)}"
        for name in SAME_SUBJECT
        if getattr(baseline.subject, name) != getattr(current.subject, name)
    ]
    different += [
        f"{name}: {baseline.conditions[name]} and {current.conditions[name]}"
        for name in SAME_CONDITIONS
        if baseline.conditions[name] != current.conditions[name]
    ]
    different += [
        f"{record.subject.version} has {record.training.step_ms.samples} timed steps, at least {MIN_SAMPLES} are needed"
        for record in (baseline, current)
        if record.training.step_ms.samples < MIN_SAMPLES
    ]
    if different:
        raise ValueError(f"these results cannot be compared; {'; '.join(different)}")
    was, now = baseline.training, current.training
    speedup = was.step_ms.median / now.step_ms.median
    low, high = was.step_ms.low / now.step_ms.high, was.step_ms.high / now.step_ms.low
    failures = []
    if low < min_speedup:
        failures.append(f"speed-up {speedup:.2f} ({low:.2f} … {high:.2f}); at least {min_speedup:g} is asked for")
    if now.without_gradient:
        failures.append(
            f"{len(now.without_gradient)} parameters get no gradient: {', '.join(now.without_gradient[:3])}"
        )
    differs = len(was.losses) == len(now.losses) and abs(now.losses[-1] / was.losses[-1] - 1) > LOSS_TOLERANCE
    # NaN is larger than nothing.
    if differs or not math.isfinite(now.losses[-1]):
        failures.append(f"the last loss is {now.losses[-1]:.4f}, the baseline's {was.losses[-1]:.4f}")
    if was.peak_memory_mib and now.peak_memory_mib and now.peak_memory_mib > max_memory_growth * was.peak_memory_mib:
        failures.append(f"peak memory {now.peak_memory_mib:.0f} MiB, the baseline's {was.peak_memory_mib:.0f} MiB")
    return Verdict(speedup, low, high, failures)


def main(arguments: Sequence[str] | None = None) -> Verdict:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.workshop.performance_regression_test",
        description="Refuses a result that is not fast enough beside another.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--baseline-results", type=Path, required=True, help="metrics.json, or its directory")
    parser.add_argument("--current-results", type=Path, required=True, help="the same, of what is judged")
    parser.add_argument("--min-speedup", type=float, default=1.0, help="that the current result must reach")
    parser.add_argument("--max-memory-growth", type=float, default=1.1, help="peak memory over the baseline's")
    options = parser.parse_args(arguments)
    try:
        baseline, current = load(options.baseline_results), load(options.current_results)
        verdict = judge(baseline, current, options.min_speedup, options.max_memory_growth)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    print(
        f"{current.subject.version} over {baseline.subject.version}: {verdict.speedup:.2f} times as fast "
        f"({verdict.low:.2f} … {verdict.high:.2f}); {'FAILED' if verdict.failures else 'passed'}"
    )
    if verdict.failures:
        raise SystemExit("\n".join(verdict.failures))
    return verdict


if __name__ == "__main__":
    main()
