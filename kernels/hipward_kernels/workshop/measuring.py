"""Measures training: time of a step and of its parts, memory, and whether every parameter is trained.

Each figure is taken in the way that fits it, one after the other: parts of a step need waiting between them, memory
needs a step of its own, so neither is taken while steps are timed.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hipward_kernels.gpu.devices import MIB
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.harness.timing import clock_for
from hipward_kernels.models.data import Batch, batches
from hipward_kernels.models.graphs import GraphedStep, GraphRefusedError
from hipward_kernels.models.training import Trainer, build, matmul_precision
from hipward_kernels.models.weights import without_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hipward_kernels.workshop.options import Subject

WARM_STEPS = 3
SPLIT_STEPS = 7
GATE_BATCHES = 3


@dataclass(frozen=True)
class Interval:
    """A median with its 95 % confidence interval; of fewer than six samples, with the smallest and the largest."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, values: list[float]) -> Interval:
        """The interval of measured values."""
        return cls(*median_interval(values), samples=len(values))


@dataclass(frozen=True)
class Split:
    """Parts of a step, in milliseconds; medians, with a wait after each part."""

    forward_ms: float
    backward_ms: float
    optimizer_ms: float


@dataclass(frozen=True)
class Training:
    """The measurements of one subject."""

    step_ms: Interval
    tokens_per_second: float
    split: Split
    peak_memory_mib: float | None
    """Peak allocation on a GPU during a step, including weights and moments; None on a CPU."""
    saved_mib: float
    """What the forward keeps for the backward: activations, and 16-bit copies of weights, but no weights."""
    first_step_s: float
    """Seconds of the first step, including compilation."""
    losses: list[float]
    """Loss before each step, in nats per token."""
    parameters: int
    without_gradient: list[str]
    """Parameters that the backward does not reach; must be empty for valid training."""
    note: str = ""
    """The reason if something was left out."""


@dataclass
class Runner:
    """A subject that is ready to train."""

    subject: Subject
    trainer: Trainer
    step: Callable[[Batch], Tensor]
    first_step_s: float
    note: str
    before_bytes: int
    """Bytes allocated on the GPU before this subject was built."""
    data: Iterator[Batch] = field(repr=False)


def prepare(
    subject: Subject, device: torch.device, weights: Mapping[str, Tensor] | None = None, seed: int = 0
) -> Runner:
    """Builds a subject, compiles it, and captures its graph if its switches say so. No step is taken."""
    gc.collect()
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    trainer = build(subject.config, subject.switches, device, subject.precision, weights=weights, seed=seed)
    shape = (subject.config, subject.batch_size, subject.sequence_length, device)
    some = batches(*shape, seed=seed + 1)
    step: Callable[[Batch], Tensor] = trainer.step
    note = ""
    with matmul_precision(subject.precision):
        started = perf_counter()
        trainer.backward(trainer.forward(next(some)))
        trainer.optimizer.zero_grad(set_to_none=True)
        synchronize(device)
        first = perf_counter() - started
        if subject.switches.graphs:
            try:
                step = GraphedStep(trainer, [next(some) for _ in range(GATE_BATCHES)])
            except GraphRefusedError as refusal:
                note = f"no graph: {refusal}"
    return Runner(subject, trainer, step, first, note, before, batches(*shape, seed=seed))


def trained(
    subject: Subject, device: torch.device, steps: int, weights: Mapping[str, Tensor] | None = None, seed: int = 0
) -> Training:
    """Builds and measures a subject, and frees it, so that it does not affect the memory of others."""
    return measure(prepare(subject, device, weights, seed), device, steps)


def measure(runner: Runner, device: torch.device, steps: int) -> Training:
    """Trains for `steps` steps, timed except for the first ones, then takes the other measurements."""
    with matmul_precision(runner.subject.precision):
        times, losses = timed(runner, device, steps)
        batch = next(runner.data)
        missing = unreached(runner.trainer, batch)
        parts = split(runner.trainer, batch, device)
        saved = saved_bytes(runner.trainer, batch)
        peak = peak_bytes(runner, batch, device)
    interval = Interval.of(times[WARM_STEPS:] or times)
    return Training(
        step_ms=interval,
        tokens_per_second=runner.subject.tokens / interval.median * 1e3,
        split=parts,
        peak_memory_mib=None if peak is None else peak / MIB,
        saved_mib=saved / MIB,
        first_step_s=runner.first_step_s,
        losses=losses,
        parameters=sum(parameter.numel() for parameter in runner.trainer.model.parameters()),
        without_gradient=missing,
        note=runner.note,
    )


def timed(runner: Runner, device: torch.device, steps: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each step, and the loss before it."""
    losses: list[Tensor] = []

    def step(batch: Batch) -> None:
        losses.append(runner.step(batch).clone())

    steps_data = [(next(runner.data),) for _ in range(steps)]
    # Python's garbage collector would pause the host in some steps only, longer the more was compiled.
    gc.collect()
    gc.disable()
    try:
        times, _ = clock_for(device).samples(step, steps_data)
    finally:
        gc.enable()
    return times, torch.stack(losses).tolist()


def unreached(trainer: Trainer, batch: Batch) -> list[str]:
    """Names of the parameters that get no gradient."""
    trainer.optimizer.zero_grad(set_to_none=True)
    trainer.backward(trainer.forward(batch))
    missing = without_gradient(trainer.model)
    trainer.optimizer.zero_grad(set_to_none=True)
    return missing


def split(trainer: Trainer, batch: Batch, device: torch.device) -> Split:
    """Forward, backward and optimizer, not captured, because a graph cannot be timed in parts."""
    taken = []
    for _ in range(SPLIT_STEPS):
        marks = [mark(device)]
        loss = trainer.forward(batch)
        marks.append(mark(device))
        trainer.backward(loss)
        marks.append(mark(device))
        trainer.update()
        marks.append(mark(device))
        synchronize(device)
        taken.append([between(a, b) for a, b in pairwise(marks)])
    return Split(*(median(parts) for parts in zip(*taken, strict=True)))


def mark(device: torch.device) -> torch.cuda.Event | float:
    """A time stamp on the device's stream, or on the host's clock for a CPU."""
    if device.type != "cuda":
        return perf_counter()
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    event.record()
    return event


def between(a: torch.cuda.Event | float, b: torch.cuda.Event | float) -> float:
    """Milliseconds from one mark to another."""
    if isinstance(a, torch.cuda.Event) and isinstance(b, torch.cuda.Event):
        return float(a.elapsed_time(b))
    assert isinstance(a, float) and isinstance(b, float)  # noqa: PT018, S101 - both marks are of one device
    return (b - a) * 1e3


def saved_bytes(trainer: Trainer, batch: Batch) -> int:
    """Bytes of the tensors that a forward keeps for the backward; each storage once, without parameters."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in trainer.model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = trainer.forward(batch)
        # The graph held them until here, so no address was reused.
        total = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
        trainer.backward(loss)
    trainer.optimizer.zero_grad(set_to_none=True)
    return total


def peak_bytes(runner: Runner, batch: Batch, device: torch.device) -> int | None:
    """Peak allocation in a step, above the level before the model was built; None on a CPU.

    Not in a captured step: a graph's memory was allocated when it was captured, and its replays allocate nothing.
    """
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    runner.trainer.step(batch)
    synchronize(device)
    return torch.cuda.max_memory_allocated(device) - runner.before_bytes


def synchronize(device: torch.device) -> None:
    """Waits for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
