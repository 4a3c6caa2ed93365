"""A training step and its parts, in the precisions that the workshop compares."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.profiler import record_function

from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.models.weights import fused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from torch.nn.parallel import DistributedDataParallel

    from hipward_kernels.models.config import Config, Switches
    from hipward_kernels.models.data import Batch

Precision = Literal["float32", "tf32", "bfloat16"]
"""Precision of matrix products. Weights, gradients and moments are always float32. Float16 is not supported, because
its gradients underflow without loss scaling."""

PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bfloat16")

LEARNING_RATE = 3e-4


@dataclass
class Trainer:
    """A model with its optimizer."""

    model: TinyLlama
    optimizer: torch.optim.Optimizer
    precision: Precision
    replicas: DistributedDataParallel | None = None
    """The wrapped model, if gradients are averaged with those of other processes."""

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of a batch, in nats per token."""
        with record_function("forward"), autocast(self.precision, batch.tokens.device):
            return (self.replicas or self.model)(*batch)  # type: ignore[no-any-return]

    def backward(self, loss: Tensor) -> None:
        """Computes the gradients of all parameters."""
        with record_function("backward"):
            loss.backward()  # type: ignore[no-untyped-call]

    def update(self) -> None:
        """Runs the optimizer and clears the gradients."""
        with record_function("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)

    def step(self, batch: Batch) -> Tensor:
        """Runs a whole step; returns the loss before it, a scalar on the device."""
        loss = self.forward(batch)
        self.backward(loss)
        self.update()
        return loss.detach()


def build(
    config: Config,
    switches: Switches,
    device: torch.device,
    precision: Precision = "float32",
    *,
    weights: Mapping[str, Tensor] | None = None,
    seed: int = 0,
) -> Trainer:
    """A model on `device` with AdamW.

    Args:
        config: Sizes of the model.
        switches: How it is computed.
        device: Device of the model.
        precision: Precision of matrix products.
        weights: Initial state with separate projections; None means random weights.
        seed: Seed of random weights.
    """
    torch.manual_seed(seed)
    # Random weights are created on the CPU, so that a seed gives the same weights everywhere; weights that are replaced
    # are created on the device.
    with nullcontext() if weights is None else device:
        model = TinyLlama(config, switches)
    if weights is not None:
        model.load_state_dict(fused(weights, switches))
    model.to(device)
    # PyTorch does not support `capturable` on a CPU.
    graphs = switches.graphs and device.type == "cuda"
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, fused=switches.fused_adamw or None, capturable=graphs
    )
    return Trainer(model, optimizer, precision)


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Autocast to 16 bits, if `precision` is a 16-bit dtype."""
    if precision != "bfloat16":
        return nullcontext()
    # Each weight is used once per step, so a cache of converted weights has no hits, and would be stale in a graph.
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)


@contextmanager
def matmul_precision(precision: Precision) -> Iterator[None]:
    """Enables or disables TF32 for float32 products within a `with` block, for the whole process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def loss_curve(trainer: Trainer, data: Iterator[Batch], steps: int) -> list[float]:
    """Trains for `steps` steps; returns the loss before each, in nats per token."""
    losses = [trainer.step(next(data)) for _ in range(steps)]
    return torch.stack(losses).tolist() if losses else []
