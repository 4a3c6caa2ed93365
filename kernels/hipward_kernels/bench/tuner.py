"""Finds launch parameters by measurement: `python -m hipward_kernels.bench.tuner`, on the GPU that they are for.

For each shape, each tier is timed with its default launch and with others, on the same clock with cold caches. The
default stays unless a candidate is faster by more than the noise. `--merge` merges the tables of several runs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import multiprocessing
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import torch
from triton.runtime.errors import OutOfResources

from hipward_kernels.bench.core import HOST_ROWS
from hipward_kernels.bench.op_cases import Case, cases
from hipward_kernels.bench.perftest import argument_sets, clock_of
from hipward_kernels.dispatch import tuning
from hipward_kernels.dispatch.registry import only
from hipward_kernels.gpu.arch import cluster_of, get_gfx
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.ops.hip_launch import VECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hipward_kernels.harness.timing import Clock

QUICK, CAREFUL = 10, 150
"""Samples per candidate, and per finalist."""
FINALISTS = 5
MAX_SHARE = 0.993
"""A candidate of a short call must take less than this share of the default's time; smaller gains are noise."""
MAX_SHARE_LONG = 0.998
LONG_MS = 0.1
"""The same for calls that take longer than `LONG_MS`, whose times vary less."""
HOST_MS = 0.0005
"""Up to `HOST_ROWS` rows, the host limits a call, and it takes longer to launch Triton. A Triton kernel must save this
much of the GPU's time."""


def candidates(case: Case, arch: str) -> Iterator[tuple[str, str]]:
    """Yields tiers and parameters for a case, the defaults first."""
    yield "hip", ""
    if "rmsnorm" not in case.op:
        yield from (("hip", parameters) for parameters in _hip_gated(case))
        yield "triton", ""
        return
    yield from (("hip", parameters) for parameters in _hip_norms(case, arch))
    block, warps = _default_triton(case, wavefront_of(arch))
    yield "triton", _triton_parameters(block, warps)
    whole, wave = 1 << (case.shape[1] - 1).bit_length(), wavefront_of(arch)
    for block, of_thread in itertools.product((whole, whole // 2, whole // 4, whole // 8), (8, 16, 32)):
        warps = block // of_thread // wave
        if 1 <= warps <= 1024 // wave and 1024 <= block <= 32768:
            yield "triton", _triton_parameters(block, warps)
            if block == whole:
                yield "triton", f"{_triton_parameters(block, warps)} again=1"


def _hip_gated(case: Case) -> Iterator[str]:
    """Yields launch parameters of the gated activations' HIP kernel."""
    if case.shape[0] <= HOST_ROWS:
        yield from (
            f"threads={threads} bytes={size} stream={stream}"
            for threads, (size, stream) in itertools.product(
                (64, 128, 256, 512, 1024), ((16, 0), (16, 1), (8, 0), (4, 0))
            )
        )
        return
    for threads, vectors in itertools.product((64, 128, 256, 512, 1024), (1, 2)):
        for once, stream in itertools.product((0, 1), (0, 1)):
            yield f"threads={threads} vectors={vectors} once={once} stream={stream}"


POLICIES = (
    "preload=0 stream=0 once=0",
    "preload=1 stream=0 once=0",
    "preload=2 stream=0 once=0",
    "preload=0 stream=1 once=0",
    "preload=2 stream=1 once=0",
    "preload=2 stream=0 once=1",
)
"""When RMSNorm's HIP kernel reads the weight, and what the caches evict first. Other combinations were never
fastest."""


def _hip_norms(case: Case, arch: str) -> Iterator[str]:
    """Yields launch parameters of RMSNorm's HIP kernel."""
    rows, columns = case.shape
    vectors = columns * case.dtype.itemsize // VECTOR_BYTES
    few = rows <= HOST_ROWS
    for cluster, of_thread in itertools.product((1, 2, 4, 8), (1, 2, 4, 8)):
        row_threads = vectors // cluster // of_thread
        if cluster > cluster_of(arch) or not 32 <= row_threads <= 1024 or (few and of_thread > 4):
            continue
        row = f"row_threads={row_threads} cluster={cluster}"
        # A few rows do not fill the caches, so cache policies have no effect.
        yield from (f"{row} rows=1 {policy}" for policy in (POLICIES[:3] if few else POLICIES))
        if not few and cluster == 1:
            yield from (
                f"{row} rows={of_block} {POLICIES[2]}" for of_block in (2, 4) if 64 <= row_threads * of_block <= 512
            )


def _triton_parameters(block: int, warps: int) -> str:
    return f"block={block} warps={warps}"


def _default_triton(case: Case, wave: int) -> tuple[int, int]:
    from hipward_kernels.ops.rmsnorm.triton import default_plan  # noqa: PLC0415 - needs Triton

    return default_plan(case.shape[1], wave)


def choices(case: Case, arch: str, source: str) -> list[tuning.Choice]:
    """The candidates of a case."""
    dtype = str(case.dtype).removeprefix("torch.")
    return [
        tuning.Choice(arch, case.op, dtype, *case.shape, tier, parameters, source)
        for tier, parameters in dict.fromkeys(candidates(case, arch))
    ]


def runs(case: Case, choice: tuning.Choice, arguments: Sequence[Any]) -> bool:
    """Whether the choice's tier handles the case with these parameters; otherwise another tier would be timed."""
    with tuning.forced(choice), only(choice.tier), torch.no_grad():
        try:
            case.ours()(*arguments)
        except (RuntimeError, OutOfResources):
            return False
    return True


def build(numbered: tuple[Case, tuning.Choice]) -> None:
    """Compiles a choice's kernels into the caches on disk. Runs in a separate process."""
    case, choice = numbered
    runs(case, choice, case.arguments())


def tune(case: Case, clock: Clock, source: str) -> tuning.Choice:
    """The fastest candidate for a case; the default if no candidate is clearly faster."""
    buffers = argument_sets(case.arguments)
    arguments = buffers[0]
    call = case.ours()

    def milliseconds(choice: tuning.Choice, samples: int) -> float:
        with tuning.forced(choice), torch.no_grad():
            call(*arguments)
            return middle(clock.samples(call, list(itertools.islice(itertools.cycle(buffers), samples)))[0])

    tried = [
        choice for choice in choices(case, get_gfx(case.device.index or 0), source) if runs(case, choice, arguments)
    ]
    quick = sorted(tried, key=lambda choice: milliseconds(choice, QUICK))
    finalists = list(dict.fromkeys([*quick[:FINALISTS], tried[0]]))
    took = {choice: milliseconds(choice, CAREFUL) for choice in finalists}
    for choice in finalists:
        took[choice] += HOST_MS if choice.tier == "triton" and case.shape[0] <= HOST_ROWS else 0.0
    best = min(took, key=lambda choice: took[choice])
    print(f"{case}: " + ", ".join(f"{c.tier} {c.parameters} {t * 1e3:.2f}" for c, t in took.items()), flush=True)
    share = MAX_SHARE if took[tried[0]] < LONG_MS else MAX_SHARE_LONG
    return best if took[best] < share * took[tried[0]] else tried[0]


def middle(samples: list[float]) -> float:
    """The mean of the middle half. It resolves more than a median, because a GPU's timer has coarse steps."""
    ordered = sorted(samples)
    return mean(ordered[len(ordered) // 4 : max(len(ordered) * 3 // 4, 1)])


def build_all(wanted: list[Case], arch: str, source: str, jobs: int) -> None:
    """Compiles all candidates in parallel. A kernel depends only on the number of columns: few rows suffice."""
    small = dict.fromkeys(replace(case, shape=(min(case.shape[0], 64), case.shape[1])) for case in wanted)
    numbered = [(case, choice) for case in small for choice in choices(case, arch, source)]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        pool.map(build, numbered, chunksize=8)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.bench.tuner", description="Finds launch parameters."
    )
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--op", default="rmsnorm,add_rmsnorm,silu_mul,gelu_mul", help="separated by commas")
    parser.add_argument("--out", type=Path, default=tuning.SHIPPED, help="table to write; its other rows are kept")
    parser.add_argument("--rows", type=int, nargs="*", help="only these numbers of rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile the candidates before measuring")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="only merge these tables into it")
    options = parser.parse_args()
    before = tuning.read(options.out) if options.out.exists() else []
    if options.merge:
        tuning.write(options.out, tuning.merge([before, *map(tuning.read, options.merge)]))
        return
    if not torch.cuda.is_available():
        parser.error("no GPU found: the tuner needs the GPU that it tunes for")
    device = torch.device("cuda", torch.cuda.current_device())
    today = dt.datetime.now(dt.timezone.utc).date()
    source = f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {today}"
    clock = clock_of(device)
    wanted = [
        case
        for case in cases(getattr(torch, options.dtype), device)
        if case.op in options.op.split(",") and (not options.rows or case.shape[0] in options.rows)
    ]
    if options.jobs > 1:
        build_all(wanted, get_gfx(device.index), source, options.jobs)
    found = [tune(case, clock, source) for case in wanted]
    tuned = {(case.op, case.shape) for case in wanted}
    kept = [
        row for row in before if (row.op, (row.rows, row.columns)) not in tuned or row.arch != get_gfx(device.index)
    ]
    tuning.write(options.out, tuning.merge([kept, found]))


if __name__ == "__main__":
    main()
