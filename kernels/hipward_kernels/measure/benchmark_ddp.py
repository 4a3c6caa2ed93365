"""Scaling of training over processes: `torchrun --nproc_per_node=N -m hipward_kernels.measure.benchmark_ddp FILE`.

The first process trains alone, then all of them with `DistributedDataParallel`, each on its own batch of the
same size (weak scaling). NCCL on GPUs, which on ROCm is RCCL under the same name; gloo on CPUs.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from hipward_kernels.harness.worker import leave
from hipward_kernels.measure import subject
from hipward_kernels.measure.benchmark_training import ITERATIONS, WARMUP, training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


@dataclass(frozen=True)
class Scaling:
    """Throughput of one process and of all."""

    processes: int
    backend: str
    alone_samples_per_second: float
    together_samples_per_second: float
    """Throughput of all processes; the slowest one determines it."""
    efficiency: float
    """Throughput of all processes over that of one times their number: 1 means no loss to communication."""
    alone_step_ms: float
    together_step_ms: float
    parameters_agree: bool
    """Whether all processes have the same parameters after training."""


def setup(device: str) -> tuple[torch.device, int, int]:
    """Joins the process group of `torchrun`; returns the device, the rank, and the number of processes."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if device.startswith("cuda"):
        torch.cuda.set_device(local)
        here = torch.device("cuda", local)
        dist.init_process_group("nccl", device_id=here)
    else:
        here = torch.device("cpu")
        dist.init_process_group("gloo")
    return here, dist.get_rank(), dist.get_world_size()


def scaling(
    alone: nn.Module,
    together: nn.Module,
    arguments: Sequence[Any],
    device: torch.device,
    *,
    warmup: int = WARMUP,
    iterations: int = ITERATIONS,
) -> Scaling:
    """Measures the scaling. Every process must call it; the result is the same in all.

    Args:
        alone: A model that the first process trains by itself.
        together: An equal model that all processes train.
        arguments: This process's batch.
        device: This process's device.
        warmup: Untimed steps.
        iterations: Timed steps.
    """
    first = torch.zeros(2, dtype=torch.float64, device=device)
    if dist.get_rank() == 0:
        single = training(alone, arguments, device, warmup=warmup, iterations=iterations)
        first += torch.tensor([single.samples_per_second, single.step_ms], dtype=torch.float64, device=device)
    dist.broadcast(first, 0)
    replicas = DistributedDataParallel(together, device_ids=[device.index] if device.type == "cuda" else None)
    dist.barrier()
    mine = training(together, arguments, device, call=replicas, warmup=warmup, iterations=iterations)
    slowest = torch.tensor([mine.step_ms, -mine.samples_per_second], dtype=torch.float64, device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    processes = dist.get_world_size()
    rate = processes * -float(slowest[1])
    return Scaling(
        processes=processes,
        backend=dist.get_backend(),
        alone_samples_per_second=float(first[0]),
        together_samples_per_second=rate,
        efficiency=rate / (processes * float(first[0])),
        alone_step_ms=float(first[1]),
        together_step_ms=float(slowest[0]),
        parameters_agree=replicas_agree(together),
    )


def replicas_agree(model: nn.Module) -> bool:
    """Whether all processes have the same parameters; every process must call it."""
    sums = torch.stack([p.detach().double().sum() for p in model.parameters()])
    low, high = sums.clone(), sums.clone()
    dist.all_reduce(low, dist.ReduceOp.MIN)
    dist.all_reduce(high, dist.ReduceOp.MAX)
    return bool(torch.equal(low, high))


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="torchrun --nproc_per_node=N -m hipward_kernels.measure.benchmark_ddp", description=__doc__
    )
    subject.add_arguments(parser)
    subject.add_counts(parser, ITERATIONS, warmup=WARMUP)
    options = parser.parse_args()
    if "RANK" not in os.environ:
        parser.exit(2, f"Start it with torchrun: torchrun --nproc_per_node=2 -m {__package__}.benchmark_ddp FILE\n")
    device, rank, _ = setup(options.device)
    try:
        snippet = subject.load(parser, options, str(device))
        measured = scaling(
            snippet.build(options.model),
            snippet.build(options.model),
            snippet.inputs(rank),
            device,
            warmup=options.warmup,
            iterations=options.iterations,
        )
    finally:
        dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(asdict(measured), indent=2))


if __name__ == "__main__":
    main()
    # gloo's threads outlive their group if DistributedDataParallel has used it (PyTorch 2.15). A thread that releases a
    # tensor during the shutdown of the interpreter is stopped within C++, which ends the process with SIGABRT, as
    # observed on a busy host. So the interpreter is not shut down.
    leave()
