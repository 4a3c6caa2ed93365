# test: run
import torch
from attention_router import attention
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, width // heads
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.head_dim, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, -1, self.head_dim)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=2)
        y = attention(q, k, v, causal=True)
        return x + self.out(y.flatten(2))


if __name__ == "__main__":
    block = Attention(width=256, heads=8, kv_heads=2)
    x = torch.randn(2, 32, 256)
    y = block(x)
    y.square().mean().backward()
    assert y.shape == x.shape
    assert all(p.grad is not None and p.grad.isfinite().all() for p in block.parameters())
    print("forward and backward work")
