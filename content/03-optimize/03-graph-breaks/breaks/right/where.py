import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, limit=4.0, steps=3):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.tensor(1.5))
        self.limit, self.steps = limit, steps

    def forward(self, x):
        h = self.first(x)
        peak = h.abs().amax()
        h = torch.where(peak > self.limit, h * (self.limit / peak), h)
        h = torch.mul(self.gain, h)
        step = 0
        while step < self.steps:
            h = h - 0.05 * h.pow(3)
            step += 1
        positive = torch.relu(h).sum() / (h > 0).to(h.dtype).sum()
        return self.second(h) + positive
