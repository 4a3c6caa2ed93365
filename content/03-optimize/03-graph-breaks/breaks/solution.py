"""The block as one graph."""

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
        # Dynamo skips this branch while it traces. In eager mode the line is still printed.
        if not torch.compiler.is_compiling():
            print("activation", tuple(h.shape))
        # end: print
        # hole: limit
        # Both cases in one expression: the factor is 1 where the peak is below the limit.
        h = h * (self.limit / h.abs().max()).clamp(max=1.0)
        # end: limit
        # hole: gain
        # A tensor of one element broadcasts. `.item()` waits for the GPU, and gets no gradient.
        h = h * self.gain
        # end: gain
        # hole: loop
        # The number of iterations is a Python integer, which Dynamo unrolls.
        for _ in range(self.steps):
            h = h - 0.05 * h**3
        # end: loop
        # hole: mean
        # `h[h > 0]` has a shape that depends on values. A sum over all, without the others, has not.
        above = h > 0
        positive = torch.where(above, h, 0.0).sum() / above.sum()
        # end: mean
        return self.second(h) + positive


def get_init_inputs() -> list[int]:
    return [8]


def get_inputs() -> list[Tensor]:
    return [torch.randn(4, 8)]
