# test: snippet
"""The ported block as a benchmark snippet, without vendor libraries."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, width // heads
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.head_dim, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def project(self, x: torch.Tensor) -> list[torch.Tensor]:
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, -1, self.head_dim).transpose(1, 2)
        return list(qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(x)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        length = x.shape[1]
        hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(-2, -1) * self.head_dim**-0.5).masked_fill(hidden, float("-inf"))
        y = scores.softmax(dim=-1) @ v
        return x + self.out(y.transpose(1, 2).flatten(2))


class ModelNew(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(x)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


def get_init_inputs() -> list[int]:
    return [512, 8, 2]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(2, 256, 512)]
