"""Synthetic training data of the workshop, equal on every host.

Tokens usually follow a fixed random permutation. The loss of a model that learns it falls from `log(vocab)` to below
1.5 nats; that of a model that does not learn stays the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hipward_kernels.models.config import Config

SURPRISES = 0.1
"""Share of tokens that are random instead of following the permutation."""


class Batch(NamedTuple):
    """Both of shape `[B, S]`, int64."""

    tokens: Tensor
    labels: Tensor
    """`labels[:, t]` is the token after `tokens[:, t]`. Labels are not shifted again."""


def batches(config: Config, batch_size: int, length: int, device: torch.device, seed: int = 0) -> Iterator[Batch]:
    """Infinite batches, equal for equal arguments on any device."""
    generator = torch.Generator().manual_seed(seed)
    follower = torch.randperm(config.vocab_size, generator=generator)
    while True:
        text = torch.randint(config.vocab_size, (batch_size, length + 1), generator=generator)
        surprising = torch.rand(batch_size, length + 1, generator=generator) < SURPRISES
        for t in range(1, length + 1):
            text[:, t] = torch.where(surprising[:, t], text[:, t], follower[text[:, t - 1]])
        text = text.to(device)
        yield Batch(text[:, :-1], text[:, 1:])
