# fails: case_eager, case_compilations, case_copies_count_alone
# message: The output is not scaled any more.
from torch import nn


class Ramp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)
