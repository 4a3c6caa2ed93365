"""What the workshop trains on: made up, the same on every host, and with something to learn.

Tokens follow a fixed random permutation most of the time, so a model that learns it gets from `log(vocab)` to below
1.5 nats, and one that does not learn stays where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hipward_kernels.models.config import Config

SURPRISES = 0.1
"""Share of tokens that are drawn at random instead of following from the token before."""


class Batch(NamedTuple):
    """Both of shape `[B, S]`, int64."""

    tokens: Tensor
    labels: Tensor
    """`labels[:, t]` is the token after `tokens[:, t]`. This is the only shift there is."""


def batches(config: Config, batch_size: int, length: int, device: torch.device, seed: int = 0) -> Iterator[Batch]:
    """Endless batches; the same for the same arguments, on any device."""
    generator = torch.Generator().manual_seed(seed)
    follower = torch.randperm(config.vocab_size, generator=generator)
    while True:
        text = torch.randint(config.vocab_size, (batch_size, length + 1), generator=generator)
        surprising = torch.rand(batch_size, length + 1, generator=generator) < SURPRISES
        for t in range(1, length + 1):
            text[:, t] = torch.where(surprising[:, t], text[:, t], follower[text[:, t - 1]])
        text = text.to(device)
        yield Batch(text[:, :-1], text[:, 1:])
