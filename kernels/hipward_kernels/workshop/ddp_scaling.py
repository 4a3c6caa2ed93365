"""Measures how training scales over GPUs: `torchrun --nproc_per_node=2 -m hipward_kernels.workshop.ddp_scaling`.

Weak scaling: each process has a batch of the full size. First, one process trains alone. Then all train together with
`DistributedDataParallel`, over NCCL (RCCL under the same name on ROCm) or, on a CPU, over gloo. Then all train at the
same time without averaging gradients, which separates the cost of communication from the cost of shared resources.
`--device cpu` runs on any host.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from hipward_kernels.harness.worker import leave
from hipward_kernels.measure.benchmark_ddp import replicas_agree, setup
from hipward_kernels.models.data import batches
from hipward_kernels.models.training import matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import WARM_STEPS, Interval, Runner, prepare, timed
from hipward_kernels.workshop.records import append, conditions, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.options import Subject
    from hipward_kernels.workshop.records import Row


@dataclass(frozen=True)
class Scaled:
    """Times of one version, alone and in parallel."""

    subject: Subject
    processes: int
    backend: str
    alone: Interval
    """Milliseconds of a step while the other processes wait."""
    together_ms: float
    """Milliseconds of a common step: the median of the slowest process."""
    uncoupled_ms: float
    """The same while all train at the same time without averaging gradients."""
    parameters_agree: bool
    """Whether every process holds the same parameters after training on different batches."""

    @property
    def efficiency(self) -> float:
        """Throughput of all processes divided by (number of processes × throughput of one); 1 is perfect scaling."""
        return self.alone.median / self.together_ms

    @property
    def tokens_per_second(self) -> float:
        """The throughput of all processes together."""
        return self.processes * self.subject.tokens / self.together_ms * 1e3


def scale(subject: Subject, device: torch.device, steps: int, seed: int) -> Scaled:
    """Measures one version; every process must call it and gets the same result."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    runner = prepare(subject, device, seed=seed)
    shape = (subject.config, subject.batch_size, subject.sequence_length, device)
    runner.data = batches(*shape, seed=seed + dist.get_rank())
    alone: list[Interval | None] = [None]
    if dist.get_rank() == 0:
        alone = [_steps(runner, device, steps)]
    dist.broadcast_object_list(alone, 0, device=device)
    assert alone[0] is not None  # noqa: S101 - the first process has measured it
    # Copies the first process's parameters to all; moments differ until then, so every process starts again.
    runner.trainer.optimizer.state.clear()
    replicas = DistributedDataParallel(
        runner.trainer.model,
        device_ids=[device.index] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
    )
    runner.trainer.replicas = replicas
    together = _slowest(_steps(runner, device, steps).median, device)
    agree = replicas_agree(runner.trainer.model)
    with replicas.no_sync():
        uncoupled = _slowest(_steps(runner, device, steps).median, device)
    return Scaled(subject, dist.get_world_size(), dist.get_backend(), alone[0], together, uncoupled, agree)


def _steps(runner: Runner, device: torch.device, steps: int) -> Interval:
    times, _ = timed(runner, device, WARM_STEPS + steps)
    return Interval.of(times[WARM_STEPS:])


def _slowest(milliseconds: float, device: torch.device) -> float:
    """The longest time of all processes."""
    slowest = torch.tensor(milliseconds, dtype=torch.float64, device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest)


def report(scaled: Sequence[Scaled], here: dict[str, Any]) -> str:
    """The report as text."""
    first = scaled[0]
    rows = [
        [
            one.subject.version,
            f"{one.alone.median:.3f}",
            f"{one.together_ms:.3f}",
            f"{one.uncoupled_ms:.3f}",
            f"{one.tokens_per_second:.0f}",
            f"{one.efficiency:.1%}",
            "yes" if one.parameters_agree else "NO",
        ]
        for one in scaled
    ]
    header = ["version", "alone ms", "together ms", "no averaging ms", "tokens/s of all", "efficiency", "agree"]
    title = (
        f"{first.processes} × {here['device_name']} over {first.backend}, {first.subject.size}, "
        f"batch {first.subject.batch_size} each, length {first.subject.sequence_length}, {first.subject.precision}; "
        f"PyTorch {here['torch']}"
    )
    return f"{title}\n\n{common.table(header, rows)}"


def results(one: Scaled, here: dict[str, Any]) -> list[Row]:
    """Rows for the CSV."""
    together = f"of {one.processes} processes over {one.backend}"
    figures: list[tuple[str, str, float | Interval]] = [
        ("step alone", "ms", one.alone),
        (f"step {together}", "ms", one.together_ms),
        (f"step {together}, no averaging", "ms", one.uncoupled_ms),
        (f"throughput {together}", "tokens/s", one.tokens_per_second),
        (f"efficiency {together}", "share", one.efficiency),
    ]
    return [row("ddp", one.subject, *figure, here) for figure in figures]


def main(arguments: Sequence[str] | None = None) -> list[Scaled]:
    """Entry point."""
    parser = common.parser("ddp_scaling", "Measures how training scales over processes; start it with torchrun.")
    common.add_switches(parser)
    parser.add_argument("--models", type=common.versions, default="v1,v4", help="versions")
    parser.add_argument("--num-steps", type=common.positive, default=20, help="timed training steps per measurement")
    parser.add_argument("--results", type=Path, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    if "RANK" not in os.environ:
        module = parser.prog.split()[-1]
        parser.exit(2, f"Start it with torchrun: torchrun --nproc_per_node=2 -m {module} --size tiny\n")
    # A captured graph would contain the collectives too. It is left out so that unmodified DDP is measured.
    options.off = [*(options.off or ()), "graphs"]
    common.device(options)
    device, rank, _ = setup(options.device)
    here = conditions(device)
    scaled = []
    try:
        for name in options.models:
            subject = common.subject(options, name)
            with matmul_precision(subject.precision):
                one = scale(subject, device, options.num_steps, options.seed)
            scaled.append(one)
            if rank == 0 and options.results is not None:
                append(options.results, results(one, here))
    finally:
        dist.destroy_process_group()
    if rank == 0:
        print(report(scaled, here))
    if not all(one.parameters_agree for one in scaled):
        raise SystemExit("the processes do not hold the same parameters after training together")
    return scaled


if __name__ == "__main__":
    main()
    leave()  # See `benchmark_ddp` for the reason.
