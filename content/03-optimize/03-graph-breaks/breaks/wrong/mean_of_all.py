# fails: case_eager, case_compiled, case_gradient
# message: The mean is taken over all elements instead of the positive ones.
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
        above = h > 0
        positive = torch.where(above, h, 0.0).sum() / h.numel()
        return self.second(h) + positive

