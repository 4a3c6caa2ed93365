"""A training step and its parts, in the precisions that the workshop compares. What is measured is elsewhere."""

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
"""What matrix products are computed in. Weights, gradients and moments are float32 in each. Float16 is not among them:
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
    """Runs the model if its gradients are averaged with those of other processes."""

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of a batch, in nats a token."""
        with record_function("forward"), autocast(self.precision, batch.tokens.device):
            return (self.replicas or self.model)(*batch)  # type: ignore[no-any-return]

    def backward(self, loss: Tensor) -> None:
        """Gradients of all parameters."""
        with record_function("backward"):
            loss.backward()  # type: ignore[no-untyped-call]

    def update(self) -> None:
        """A step of the optimizer; gradients are dropped."""
        with record_function("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)

    def step(self, batch: Batch) -> Tensor:
        """The whole step; returns the loss before it, a scalar on the device."""
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
        config: Which function.
        switches: How it is computed.
        device: Where.
        precision: What products are computed in.
        weights: A state with separate projections to start from; None draws one.
        seed: For drawing it.
    """
    torch.manual_seed(seed)
    # Drawn on the CPU a seed gives the same weights everywhere; what is replaced is made where that is fast.
    with nullcontext() if weights is None else device:
        model = TinyLlama(config, switches)
    if weights is not None:
        model.load_state_dict(fused(weights, switches))
    model.to(device)
    # PyTorch refuses capturable on a CPU, where nothing is captured.
    graphs = switches.graphs and device.type == "cuda"
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, fused=switches.fused_adamw or None, capturable=graphs
    )
    return Trainer(model, optimizer, precision)


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Computes in 16 bits where that is safe, if `precision` says so."""
    if precision != "bfloat16":
        return nullcontext()
    # Each weight is used once a step, so a cache of converted weights has no hits; captured, it would go stale.
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)


@contextmanager
def matmul_precision(precision: Precision) -> Iterator[None]:
    """Whether float32 products may use the matrix units' TF32, within a `with` block and for the whole process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def loss_curve(trainer: Trainer, data: Iterator[Batch], steps: int) -> list[float]:
    """Trains for `steps` steps; the loss before each, in nats a token."""
    losses = [trainer.step(next(data)) for _ in range(steps)]
    return torch.stack(losses).tolist() if losses else []
