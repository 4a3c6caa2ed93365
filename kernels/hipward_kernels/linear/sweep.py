"""Measures the routes of `linear` and fits thresholds: `python -m hipward_kernels.linear.sweep`, on the GPU itself.

The 8-bit product of `hipward_kernels.quantization` is timed beside them, with its error; it is no route, because it
changes results. Thresholds go to this folder's table.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from hipward_kernels.arch import fp8_dtype, get_gfx
from hipward_kernels.harness.distance import distance, root_mean_square
from hipward_kernels.linear import ROUTES, refusals
from hipward_kernels.linear.threshold import TABLE, Threshold, fit, read, write
from hipward_kernels.perftest import perftest
from hipward_kernels.quantization import FP8Linear

if TYPE_CHECKING:
    from collections.abc import Callable

WEIGHTS = ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336))
"""`[N, K]` of Llama-3-8B: output, fused QKV, fused gate and up, and down projections."""
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
SAMPLES = 30


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.linear.sweep", description="Fits thresholds.")
    parser.add_argument("--out", type=Path, default=TABLE, help="table of thresholds to renew")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("there is no GPU here to measure")
    device = torch.device("cuda", torch.cuda.current_device())
    today = dt.datetime.now(dt.timezone.utc).date()
    source = f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {today}"
    fitted = []
    for n, k in WEIGHTS:
        layer = nn.Linear(k, n, bias=False, device=device, dtype=torch.bfloat16)
        weight = layer.weight.detach()
        routes = [
            name for name, why in refusals(torch.empty(1, k, device=device).bfloat16(), weight).items() if not why
        ]
        calls: dict[str, Callable[..., Any]] = {name: ROUTES[name] for name in routes}
        quantized = FP8Linear(layer) if fp8_dtype(get_gfx(device.index)) is not None else None
        times = {}
        for rows in ROWS:
            x = torch.randn(rows, k, device=device, dtype=torch.bfloat16)
            moved, flops = 2 * (rows * k + n * k + rows * n), 2 * rows * n * k
            times[rows] = {
                name: perftest(call, x, weight, None, bytes_moved=moved, flops=flops, samples=SAMPLES)[1].milliseconds
                for name, call in calls.items()
            }
            text = ", ".join(f"{name} {ms * 1e3:.1f}" for name, ms in times[rows].items())
            if quantized is not None:
                got, took = perftest(quantized, x, bytes_moved=moved, flops=flops, samples=SAMPLES)
                exact = F.linear(x.double(), weight.double())
                error = distance(got, exact, 0.0).rms / root_mean_square(exact)
                text += f", fp8 with quantizing {took.milliseconds * 1e3:.1f} (error {error:.2%})"
            print(f"N={n} K={k} M={rows} µs: {text}", flush=True)
        fitted.append(Threshold(get_gfx(device.index), "bfloat16", n, k, *fit(times), source))
        print(fitted[-1])
    write(options.out, [*read(options.out), *fitted])


if __name__ == "__main__":
    main()
