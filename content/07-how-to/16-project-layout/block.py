# test: snippet
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + self.linear(self.norm(x))


def get_inputs():
    return [torch.randn(8, 64)]


def get_init_inputs():
    return [64]
