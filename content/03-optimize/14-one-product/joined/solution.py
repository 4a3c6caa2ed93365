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
        # Rows of the weight are outputs: q first, then k, then v. A missing bias adds nothing.
        self.weight.copy_(torch.cat([state[f"{name}.weight"] for name in NAMES]))
        for name, part in zip(NAMES, self.bias.split(self.sizes), strict=True):
            part.copy_(state.get(f"{name}.bias", torch.zeros_like(part)))
        # end: load

    def save_separate(self) -> dict[str, Tensor]:
        """The checkpoint of three layers, with all biases."""
        # hole: save
        weights, biases = self.weight.split(self.sizes), self.bias.split(self.sizes)
        parts = zip(NAMES, weights, biases, strict=True)
        return {f"{name}.{kind}": value for name, w, b in parts for kind, value in (("weight", w), ("bias", b))}
        # end: save

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q `[batch, length, heads, features]`, and k and v with `kv_heads`."""
        # hole: product
        # One read of x. The parts are views into one result, with its row length as their stride.
        q, k, v = F.linear(x, self.weight, self.bias).split(self.sizes, dim=-1)
        return tuple(part.unflatten(-1, (-1, self.features)) for part in (q, k, v))
        # end: product
