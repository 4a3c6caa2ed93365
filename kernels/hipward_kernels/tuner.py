"""Finds launch parameters by trying them: `python -m hipward_kernels.tuner`, on the GPU that they are for.

For each shape the tiers are tried, each with its default launch and with others, on the same clock with cold caches.
The default stays where nothing is faster by more than the noise. `--merge` merges the tables of several runs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import torch

from hipward_kernels import tuning
from hipward_kernels.arch import get_gfx, wave_of
from hipward_kernels.bench_cases import Case, cases
from hipward_kernels.perftest import clock_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hipward_kernels.harness.timing import Clock

QUICK, CAREFUL = 10, 100
"""Samples of every candidate, and of the best few."""
FINALISTS = 4
WORTH_A_ROW = 0.993
"""Of the default's time: less gain than this is noise."""


def candidates(case: Case, wave: int) -> Iterator[tuple[str, str]]:
    """Tiers and parameters that may suit a case, the defaults first."""
    yield "hip", ""
    yield "triton", "" if "rmsnorm" not in case.op else _triton_parameters(*_default_triton(case, wave))
    if "rmsnorm" not in case.op:
        return
    columns, itemsize = case.shape[1], case.dtype.itemsize
    vectors = columns * itemsize // 16
    for row_threads in (32, 64, 128, 256, 512, 1024):
        if 1 <= vectors / row_threads <= 16:
            for rows in (1, 2, 4):
                if 64 <= row_threads * rows <= 1024:
                    yield "hip", f"row_threads={row_threads} rows={rows}"
    whole = 1 << (columns - 1).bit_length()
    for block, of_thread in itertools.product((whole, whole // 2, whole // 4, whole // 8), (8, 16, 32, 64)):
        warps = block // of_thread // wave
        if 1 <= warps <= 1024 // wave and 1024 <= block <= 32768:
            yield "triton", _triton_parameters(block, warps)


def _triton_parameters(block: int, warps: int) -> str:
    return f"block={block} warps={warps}"


def _default_triton(case: Case, wave: int) -> tuple[int, int]:
    from hipward_kernels.ops.rmsnorm.triton import default_plan  # noqa: PLC0415 - needs Triton

    return default_plan(case.shape[1], wave)


def tune(case: Case, clock: Clock, source: str) -> tuning.Choice:
    """The best candidate for a case; the default where nothing is clearly better."""
    arch = get_gfx(case.device.index or 0)
    arguments = case.arguments()
    call = case.ours()
    dtype = str(case.dtype).removeprefix("torch.")

    def milliseconds(choice: tuning.Choice, samples: int) -> float:
        with tuning.forced(choice), torch.no_grad():
            call(*arguments)
            return median(clock.samples(call, [arguments] * samples)[0])

    tried = [
        tuning.Choice(arch, case.op, dtype, *case.shape, tier, parameters, source)
        for tier, parameters in dict.fromkeys(candidates(case, wave_of(arch)))
    ]
    quick = sorted(tried, key=lambda choice: milliseconds(choice, QUICK))
    finalists = list(dict.fromkeys([*quick[:FINALISTS], tried[0]]))
    took = {choice: milliseconds(choice, CAREFUL) for choice in finalists}
    best = min(took, key=lambda choice: took[choice])
    print(f"{case}: " + ", ".join(f"{c.tier} {c.parameters} {t * 1e3:.2f}" for c, t in took.items()), flush=True)
    return best if took[best] < WORTH_A_ROW * took[tried[0]] else tried[0]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.tuner", description="Finds launch parameters.")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--op", default="rmsnorm,add_rmsnorm,silu_mul,gelu_mul", help="separated by commas")
    parser.add_argument("--out", type=Path, default=tuning.SHIPPED, help="table to write; its other rows stay")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="only merge these tables into it")
    options = parser.parse_args()
    before = tuning.read(options.out) if options.out.exists() else []
    if options.merge:
        tuning.write(options.out, tuning.merge([before, *map(tuning.read, options.merge)]))
        return
    if not torch.cuda.is_available():
        parser.error("there is no GPU here to tune for")
    device = torch.device("cuda", torch.cuda.current_device())
    today = dt.datetime.now(dt.timezone.utc).date()
    source = f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {today}"
    clock = clock_of(device)
    wanted = [case for case in cases(getattr(torch, options.dtype), device) if case.op in options.op.split(",")]
    found = [tune(case, clock, source) for case in wanted]
    tuned = {(case.op, case.shape) for case in wanted}
    kept = [
        row for row in before if (row.op, (row.rows, row.columns)) not in tuned or row.arch != get_gfx(device.index)
    ]
    tuning.write(options.out, tuning.merge([kept, found]))


if __name__ == "__main__":
    main()
