"""Query, key and value by one matrix product, with fewer heads of keys and values than of queries."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NAMES = ("q_proj", "k_proj", "v_proj")


class JoinedQKV(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.features = width // heads
        self.sizes = [heads * self.features, kv_heads * self.features, kv_heads * self.features]
        self.weight = nn.Parameter(torch.empty(sum(self.sizes), width))
        self.bias = nn.Parameter(torch.zeros(sum(self.sizes)))

    @torch.no_grad()
    def load_separate(self, state: dict[str, Tensor]) -> None:
        """Loads a checkpoint of three layers: `q_proj.weight`, …; biases may be missing."""
        # hole: load
        self.weight.zero_()
        # end: load

    def save_separate(self) -> dict[str, Tensor]:
        """The checkpoint of three layers, with all biases."""
        # hole: save
        return {"weight": self.weight, "bias": self.bias}
        # end: save

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q `[batch, length, heads, features]`, and k and v with `kv_heads`."""
        # hole: product
        parts = zip(self.weight.split(self.sizes), self.bias.split(self.sizes), strict=True)
        q, k, v = (F.linear(x, weight, bias) for weight, bias in parts)
        return tuple(part.unflatten(-1, (-1, self.features)) for part in (q, k, v))
        # end: product
