"""A block whose forward breaks the graph in five places."""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    def __init__(self, width: int, limit: float = 4.0, steps: int = 3) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.tensor(1.5))
        self.limit, self.steps = limit, steps

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        # hole: print
        print("activation", tuple(h.shape))
        # end: print
        # hole: limit
        peak = h.abs().max()
        if peak > self.limit:
            h = h * (self.limit / peak)
        # end: limit
        # hole: gain
        h = h * self.gain.item()
        # end: gain
        # hole: loop
        left = torch.tensor(self.steps)
        while left > 0:
            h = h - 0.05 * h**3
            left -= 1
        # end: loop
        # hole: mean
        positive = h[h > 0].mean()
        # end: mean
        return self.second(h) + positive


def get_init_inputs() -> list[int]:
    return [8]


def get_inputs() -> list[Tensor]:
    return [torch.randn(4, 8)]
