# test: snippet
"""RMSNorm, written out: one expression, five operations."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def get_init_inputs() -> list[int]:
    return [1024]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(256, 1024)]
