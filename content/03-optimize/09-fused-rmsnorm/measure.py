# test: compile
"""Measures this lesson's kernel with the method of `hipward_kernels.bench`. Needs a GPU.

    PYTHONPATH=kernels python content/03-optimize/09-fused-rmsnorm/measure.py --results measured.csv

Each implementation is checked against float64 first. Then they are timed in interleaved rounds, with cold caches, until
the medians are precise. The kernel is timed twice, as a control. Rows have the columns of kernels/results/results.csv.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch
from hipward_kernels.bench import ops as bench
from hipward_kernels.bench.op_cases import EPS, Case
from hipward_kernels.bench.perftest import clock_of, copy_rate
from hipward_kernels.bench.results import append, rows
from hipward_kernels.harness.environment import environment
from rmsnorm_triton import rms_norm
from torch.nn import functional as F

SHAPES = ((2048, 4096), (16384, 4096), (16384, 8192), (16384, 16384))
NAMES = {bench.OURS: "lesson", bench.AGAIN: "lesson, again"}


class LessonCase(Case):
    """The package's RMSNorm case, with this lesson's kernel instead of the package's op."""

    def ours(self) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        def call(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            # The reference is computed in float64; the kernel computes in float32.
            exact = x.dtype == torch.float64
            return F.rms_norm(x, weight.shape, weight, EPS) if exact else rms_norm(x, weight, EPS)

        return call


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the lesson's RMSNorm kernel.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", type=Path, required=True, help="CSV to append to")
    options = parser.parse_args()
    device = torch.device(options.device)
    clock = clock_of(device)
    conditions = environment(device, clock, bench.RULE)
    rate = copy_rate(device)
    for shape in SHAPES:
        case = LessonCase("rmsnorm", shape, torch.bfloat16, device)
        measured = [
            dataclasses.replace(row, variant=NAMES.get(row.variant, row.variant))
            for row in bench.measure(case, clock, bench.RULE, rate)
        ]
        append(options.results, rows(measured, conditions))
        for row in measured:
            low, high = row.ci_low_ms * 1e3, row.ci_high_ms * 1e3
            print(f"{row.shape:13}{row.variant:23}{row.median_ms * 1e3:9.1f} µs, {low:.1f} to {high:.1f} {row.outcome}")


if __name__ == "__main__":
    main()
