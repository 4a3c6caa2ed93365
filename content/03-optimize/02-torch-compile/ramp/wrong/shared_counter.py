# fails: case_copies_count_alone
# message: All layers share one counter. Each needs its own.
import torch
from torch import nn

STEP = torch.zeros(())


class Ramp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        STEP.add_(1)
        return self.linear(x) * (STEP / 100).clamp(max=1.0)
