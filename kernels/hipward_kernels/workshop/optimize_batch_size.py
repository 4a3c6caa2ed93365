"""The best batch size within a share of the memory: `… optimize_batch_size --target-memory-usage 0.8 --seq-len 128`.

Doubles the batch until it does not fit, then halves the gap; each candidate is run and none is predicted. On a GPU what
counts is the allocator's peak; on a CPU, whose allocator keeps no count, weights, gradients, moments and what the
forward keeps for the backward.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from hipward_kernels.gpu.devices import MIB, describe
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import trained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hipward_kernels.workshop.options import Subject

TRAINING_BYTES = 16
"""A parameter: weight, gradient and two moments in float32."""

TARGETS: dict[str, Callable[[Candidate], float]] = {
    "throughput": lambda candidate: candidate.tokens_per_second,
    "latency": lambda candidate: -candidate.step_ms,
    "memory": lambda candidate: candidate.tokens_per_second / candidate.memory_mib,
}
"""The quantity to maximize: tokens per second, 1 / step time, or tokens per second and MiB."""

LARGEST = {"cuda": 1024, "cpu": 64}
"""The default of the largest batch: a CPU's memory holds more than its cores can process."""


@dataclass(frozen=True)
class Candidate:
    """A batch size that fits."""

    batch_size: int
    step_ms: float
    tokens_per_second: float
    memory_mib: float


def attempt(subject: Subject, device: torch.device, steps: int, seed: int) -> Candidate | None:
    """Trains with a batch size; None if memory runs out."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    try:
        training = trained(subject, device, steps, seed=seed)
    except torch.OutOfMemoryError:
        if device.type == "cuda":
            torch.cuda.empty_cache()
        print(f"batch {subject.batch_size}: out of memory", file=sys.stderr)
        return None
    memory = training.peak_memory_mib
    if memory is None:
        memory = training.parameters * TRAINING_BYTES / MIB + training.saved_mib
    candidate = Candidate(subject.batch_size, training.step_ms.median, training.tokens_per_second, memory)
    print(
        f"batch {candidate.batch_size}: {candidate.step_ms:.3f} ms, {candidate.tokens_per_second:.0f} tokens/s, "
        f"{candidate.memory_mib:.0f} MiB",
        file=sys.stderr,
    )
    return candidate


def search(attempt: Callable[[int], Candidate | None], limit_mib: float, largest: int) -> list[Candidate]:
    """Every candidate that fits into the limit, smallest first.

    Args:
        attempt: Tries a batch size; None where memory runs out.
        limit_mib: The most memory that a candidate may take.
        largest: The largest batch size that is tried.
    """
    fits: list[Candidate] = []

    def try_one(size: int) -> bool:
        candidate = attempt(size)
        if candidate is None or candidate.memory_mib > limit_mib:
            return False
        fits.append(candidate)
        return True

    size = 1
    while size <= largest and try_one(size):
        size *= 2
    low, high = size // 2, min(size, largest + 1)
    # The search stops within an eighth of the largest batch that fits.
    while low and high - low > max(1, low // 8):
        middle = (low + high) // 2
        low, high = (middle, high) if try_one(middle) else (low, middle)
    return sorted(fits, key=lambda candidate: candidate.batch_size)


def main(arguments: Sequence[str] | None = None) -> Candidate:
    """Entry point."""
    parser = common.parser("optimize_batch_size", "Finds the best batch size within a share of the memory.")
    common.add_switches(parser)
    parser.add_argument("--version", type=common.version_of, default="v2", help="v1, v2, v3, v4")
    parser.add_argument("--target-memory-usage", type=float, default=0.8, help="share of the device's memory")
    parser.add_argument("--optimization-target", choices=list(TARGETS), default="throughput", help="what is best")
    parser.add_argument(
        "--max-batch-size",
        type=common.positive,
        help=f"the largest that is tried; default: {LARGEST['cuda']} on a GPU, {LARGEST['cpu']} on a CPU",
    )
    parser.add_argument("--num-steps", type=common.positive, default=8, help="timed training steps of each")
    options = parser.parse_args(arguments)
    if not 0 < options.target_memory_usage <= 1:
        parser.error("--target-memory-usage is a share: above 0, at most 1")
    device = common.device(options)
    subject = common.subject(options, options.version)
    limit = options.target_memory_usage * describe(device).memory_bytes / MIB
    fits = search(
        lambda size: attempt(replace(subject, batch_size=size), device, options.num_steps, options.seed),
        limit,
        options.max_batch_size or LARGEST.get(device.type, LARGEST["cpu"]),
    )
    if not fits:
        raise SystemExit(f"not even a batch of one fits into {limit:.0f} MiB")
    best = max(fits, key=TARGETS[options.optimization_target])
    rows = [
        [
            str(c.batch_size),
            f"{c.step_ms:.3f}",
            f"{c.tokens_per_second:.0f}",
            f"{c.memory_mib:.0f}",
            "best" * (c is best),
        ]
        for c in fits
    ]
    what = f"{subject.version}, {subject.size}, length {subject.sequence_length}, {subject.precision}"
    print(f"{what}; limit {limit:.0f} MiB\n")
    print(common.table(["batch", "step ms", "tokens/s", "MiB", options.optimization_target], rows))
    return best


if __name__ == "__main__":
    main()
