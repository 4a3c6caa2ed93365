# test: run
"""The model of the recorded ablation: a transformer layer with RMSNorm, attention and a gated feed-forward."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, HIDDEN = (2048, 16, 5504) if torch.cuda.is_available() else (128, 4, 344)
BATCH, LENGTH = (4, 2048) if torch.cuda.is_available() else (2, 32)


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (wide * scale).to(x.dtype) * self.weight


class Model(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(RMSNorm(width) for _ in range(2))
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norms[0](x)
        q, k, v = (
            p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for p in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def get_init_inputs() -> list[int]:
    return [WIDTH, HEADS, HIDDEN]


def get_inputs() -> list[Tensor]:
    return [torch.randn(BATCH, LENGTH, WIDTH)]


if __name__ == "__main__":
    model = Model(*get_init_inputs())
    assert model(*get_inputs()).isfinite().all()
