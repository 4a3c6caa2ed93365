# fails: case_compilations
# message: `.item()` needs the value in Python, for which the host waits for the GPU at each call.
import torch
from torch import nn


class Ramp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("step", torch.zeros(()))

    def forward(self, x):
        self.step += 1
        return self.linear(x) * min(self.step.item() / 100, 1.0)
