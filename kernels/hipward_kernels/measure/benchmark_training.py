"""Throughput of training: `python -m hipward_kernels.measure.benchmark_training FILE`.

A step is split into forward, backward and optimizer, which reveal different errors: a backward of almost no duration
computes no gradients. So parameters without a gradient are listed, and the losses are recorded.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.measure import subject
from hipward_kernels.measure.clock import forget_peak_memory, now, peak_memory_bytes
from hipward_kernels.numerics.nested import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WARMUP = 5
ITERATIONS = 20
LEARNING_RATE = 1e-4


@dataclass(frozen=True)
class Training:
    """Median time of a step and its parts, in milliseconds."""

    step_ms: float
    forward_ms: float
    backward_ms: float
    optimizer_ms: float
    samples_per_second: float
    peak_memory_bytes: int
    losses: list[float]
    without_gradient: list[str]
    """Names of parameters that require a gradient but have none: they are not trained."""


def stand_in_loss(result: Any) -> Tensor:
    """Mean square of all floating-point outputs, which depends on the same parameters as the outputs."""
    parts = [out.float().square().mean() for out in tensors(result) if out.is_floating_point()]
    return torch.stack(parts).sum()


def training(
    model: nn.Module,
    arguments: Sequence[Any],
    device: torch.device,
    *,
    call: Callable[..., Any] | None = None,
    loss_of: Callable[[Any], Tensor] = stand_in_loss,
    optimizer: torch.optim.Optimizer | None = None,
    warmup: int = WARMUP,
    iterations: int = ITERATIONS,
) -> Training:
    """Times training steps, which train the model.

    Args:
        model: The trained model.
        arguments: Arguments of every step; the first dimension of the first tensor is the batch.
        device: The device of the model.
        call: A wrapper of the model, such as `torch.compile` or `DistributedDataParallel` (default: the model).
        loss_of: Computes the loss from the outputs of the model.
        optimizer: The optimizer (default: AdamW with a learning rate of 1e-4).
        warmup: Untimed steps.
        iterations: Timed steps.
    """
    model.train()
    run = call or model
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    parts: list[tuple[float, float, float]] = []
    losses: list[float] = []
    missing: list[str] = []
    for step in range(warmup + iterations):
        if step == warmup:
            forget_peak_memory(device)
        optimizer.zero_grad()
        begun = now(device)
        loss = loss_of(run(*arguments))
        forward = now(device)
        loss.backward()  # type: ignore[no-untyped-call]
        backward = now(device)
        if step == 0:
            missing = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
        # The time in between is not part of a step.
        before_update = now(device)
        optimizer.step()
        updated = now(device)
        losses.append(float(loss.detach()))
        if step >= warmup:
            parts.append((forward - begun, backward - forward, updated - before_update))
    steps = [sum(part) for part in parts]
    batch = next((t.shape[0] for t in tensors(list(arguments)) if t.dim()), 1)
    return Training(
        step_ms=statistics.median(steps) * 1e3,
        forward_ms=statistics.median(part[0] for part in parts) * 1e3,
        backward_ms=statistics.median(part[1] for part in parts) * 1e3,
        optimizer_ms=statistics.median(part[2] for part in parts) * 1e3,
        samples_per_second=batch / statistics.median(steps),
        peak_memory_bytes=peak_memory_bytes(device),
        losses=losses,
        without_gradient=missing,
    )


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.measure.benchmark_training", description=__doc__)
    subject.add_arguments(parser)
    subject.add_counts(parser, ITERATIONS, warmup=WARMUP)
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    model = snippet.build(options.model)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        parser.exit(1, "The model has no parameters, so there is nothing to train.\n")
    call = torch.compile(model) if options.compile else model
    measured = training(
        model,
        snippet.inputs(0),
        snippet.device,
        call=call,
        warmup=options.warmup,
        iterations=options.iterations,
    )
    print(json.dumps(asdict(measured), indent=2))
    if measured.without_gradient:
        parser.exit(1, f"These parameters get no gradient and do not learn: {', '.join(measured.without_gradient)}\n")


if __name__ == "__main__":
    main()
