"""A layer whose output is scaled up over its first 100 calls."""

import torch
from torch import Tensor, nn


class Ramp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        # hole: counter
        self.step = 0
        # end: counter

    def forward(self, x: Tensor) -> Tensor:
        self.step += 1
        scale = torch.as_tensor(self.step / 100).clamp(max=1.0)
        return self.linear(x) * scale
