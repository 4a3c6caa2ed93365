# fails: case_breaks
# message: A method outside the graph is still a break.
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
        if not torch.compiler.is_compiling():
            print("activation", tuple(h.shape))
        h = h * (self.limit / h.abs().max()).clamp(max=1.0)
        h = h * self.gain
        for _ in range(self.steps):
            h = h - 0.05 * h**3
        positive = self.positive(h)
        return self.second(h) + positive

    @torch.compiler.disable
    def positive(self, h: Tensor) -> Tensor:
        return h[h > 0].mean()

