# test: snippet
"""RMSNorm as Llama-style models implement it, and as PyTorch provides it."""

import torch
from torch import nn
from torch.nn import functional as F


# anchor: eager
class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)
# end: eager


# anchor: shipped
class ModelNew(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, eps=1e-6)
# end: shipped


def get_init_inputs() -> list[int]:
    return [4096]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(512, 4096, dtype=torch.bfloat16)]
