# test: snippet
"""A small model that is compared with itself only, to measure how quiet the machine is."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x)


def get_init_inputs() -> list[int]:
    return [512]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(128, 512)]
