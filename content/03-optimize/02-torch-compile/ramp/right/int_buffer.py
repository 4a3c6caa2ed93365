import torch
from torch import nn


class Ramp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("calls", torch.tensor(0, dtype=torch.int64))

    def forward(self, x):
        self.calls.add_(1)
        return self.linear(x) * torch.minimum(self.calls / 100, torch.ones(()))
