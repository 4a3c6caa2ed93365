# test: snippet rejected
"""A wrong RMSNorm that does less work than eager: it does not read the whole row."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


class ModelNew(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        quarter = x[..., : x.shape[-1] // 4]
        scale = torch.rsqrt(quarter.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


def get_init_inputs() -> list[int]:
    return [4096]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(256, 4096)]
