# test: run
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.qkv_proj = nn.Linear(width, 3 * width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        qkv = self.qkv_proj(self.norm(x))
        q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.o_proj(y.transpose(1, 2).flatten(2))


def fuse_qkv(separate: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Convert a checkpoint with three projections to one with the fused projection."""
    parts = [separate.pop(f"{name}_proj.weight") for name in "qkv"]
    return separate | {"qkv_proj.weight": torch.cat(parts)}


model = torch.compile(Attention(512, 8))
print(model(torch.randn(2, 64, 512)).shape)
