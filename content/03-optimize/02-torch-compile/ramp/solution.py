"""A layer whose output is scaled up over its first 100 calls."""

import torch
from torch import Tensor, nn


class Ramp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        # hole: counter
        # A tensor is an input of the graph: a guard checks its shape and dtype, not its value.
        # A buffer also moves with the module and is saved in its state dict.
        self.register_buffer("step", torch.zeros(()))
        # end: counter

    def forward(self, x: Tensor) -> Tensor:
        self.step += 1
        scale = torch.as_tensor(self.step / 100).clamp(max=1.0)
        return self.linear(x) * scale
