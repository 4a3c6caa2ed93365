# test: snippet
"""A gated MLP that names no device: the runner moves it to the device of the host."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def get_init_inputs() -> list[int]:
    return [512, 1376]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(64, 512)]
