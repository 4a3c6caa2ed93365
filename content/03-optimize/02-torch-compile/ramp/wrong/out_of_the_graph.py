# fails: case_compilations
# message: `torch.compiler.disable` keeps the layer out of the graph, so it is not optimized at all.
import torch
from torch import nn


class Ramp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.step = 0

    @torch.compiler.disable
    def forward(self, x):
        self.step += 1
        return self.linear(x) * min(self.step / 100, 1.0)
