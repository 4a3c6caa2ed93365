"""Measures the routes of `linear` on this GPU and fits the route table: `python -m hipward_kernels.linear.sweep`.

The 8-bit product of `hipward_kernels.quantization` is timed too, with its error; it is not a route, because it changes
results. Splits are written to `route_table.csv`, times to `results/linear.csv`.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from hipward_kernels.bench.perftest import perftest
from hipward_kernels.gpu.arch import fp8_dtype, get_gfx
from hipward_kernels.linear import ROUTES, refusals
from hipward_kernels.linear.route_table import TABLE, Split, fit, read, write
from hipward_kernels.numerics.distance import distance
from hipward_kernels.quantization import FP8Linear

if TYPE_CHECKING:
    from collections.abc import Callable

WEIGHTS = ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336))
"""`[N, K]` of Llama-3-8B: output, fused QKV, fused gate and up, and down projections."""
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
SAMPLES = 30
RESULTS = Path(__file__).parents[2] / "results" / "linear.csv"
"""Microseconds of each route and of the 8-bit layer, with its root mean square error relative to that of the result."""


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.linear.sweep", description="Fits the route table.")
    parser.add_argument("--out", type=Path, default=TABLE, help="route table to update")
    parser.add_argument("--results", type=Path, default=RESULTS, help="CSV of every time, overwritten")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("there is no GPU here to measure")
    device = torch.device("cuda", torch.cuda.current_device())
    today = dt.datetime.now(dt.timezone.utc).date()
    source = f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {today}"
    fitted, measured = [], []
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
            row = {"n": n, "k": k, "m": rows, **{f"{name}_us": ms * 1e3 for name, ms in times[rows].items()}}
            if quantized is not None:
                got, took = perftest(quantized, x, bytes_moved=moved, flops=flops, samples=SAMPLES)
                exact = F.linear(x.double(), weight.double())
                row["fp8_us"] = took.milliseconds * 1e3
                apart = distance(got, exact)
                row["fp8_error"] = apart.rms / apart.expected_rms
            text = {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()}
            measured.append({**text, "source": source})
            print(measured[-1], flush=True)
        fitted.append(Split(get_gfx(device.index), "bfloat16", n, k, *fit(times), source))
        print(fitted[-1])
    before = read(options.out) if options.out.exists() else []
    write(options.out, [*before, *fitted])
    with options.results.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(measured[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(measured)


if __name__ == "__main__":
    main()
