# fails: case_throughput, case_outlier
# message: A sample is one entry of the first dimension, not one number.
"""The baseline of training: time of each part, throughput, peak memory, and what gets no gradient."""

import statistics
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn


@dataclass(frozen=True)
class Baseline:
    """Medians over the timed steps, in milliseconds."""

    forward_ms: float
    backward_ms: float
    optimizer_ms: float
    samples_per_second: float
    peak_bytes: int
    without_gradient: list[str]  # names of parameters that should be trained but are not


class Device(Protocol):
    """What the measurement uses of a device. The judge passes a simulated one."""

    def now(self) -> float:
        """Seconds, after the queue is empty."""

    def reset_peak(self) -> None:
        """Sets the peak to the memory that is in use now: `torch.cuda.reset_peak_memory_stats`."""

    def peak(self) -> int:
        """Bytes: `torch.cuda.max_memory_allocated`."""


def baseline(
    model: nn.Module,
    batch: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    device: Device,
    warm_up: int = 2,
    steps: int = 5,
) -> Baseline:
    """Trains `warm_up + steps` steps of the mean square of the output; times the last `steps`."""
    parts: list[tuple[float, float, float]] = []
    missing: list[str] = []
    for step in range(warm_up + steps):
        # hole: warm-up
        if step == warm_up:
            # Compilation and tuning need memory that training does not.
            device.reset_peak()
        # end: warm-up
        optimizer.zero_grad()
        start = device.now()
        loss = model(batch).square().mean()
        after_forward = device.now()
        loss.backward()
        after_backward = device.now()
        # hole: missing
        # None, not zero: a gradient may be zero for good reasons. Frozen parameters need none.
        missing = [
            name for name, p in model.named_parameters() if p.requires_grad and p.grad is None
        ]
        # end: missing
        optimizer.step()
        # hole: parts
        end = device.now()
        if step >= warm_up:
            parts.append((after_forward - start, after_backward - after_forward, end - after_backward))
        # end: parts
    forward, backward, update = (1e3 * statistics.median(part) for part in zip(*parts, strict=True))
    # hole: throughput
    # The whole step, not the forward alone; the first dimension is the batch.
    rate = batch.numel() / statistics.median(sum(part) for part in parts)
    # end: throughput
    return Baseline(forward, backward, update, rate, device.peak(), missing)
