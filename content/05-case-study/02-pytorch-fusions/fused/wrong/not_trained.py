# fails: case_gradients
# message: A joined weight that is not an `nn.Parameter` is not trained.
"""Attention and feed-forward of a layer with joined projections and flash attention. Weights are `[outputs, inputs]`."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def version_1(x: Tensor, weights: dict[str, Tensor], heads: int, kv_heads: int) -> Tensor:
    """The reference: `x` of shape `[B, S, features]` to the same shape."""
    q, k, v = (F.linear(x, weights[name]).unflatten(-1, (-1, x.shape[-1] // heads)).transpose(1, 2) for name in "qkv")
    k, v = (part.repeat_interleave(heads // kv_heads, dim=1) for part in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    out = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    x = x + F.linear(out.transpose(1, 2).flatten(-2), weights["o"])
    return x + F.linear(F.silu(F.linear(x, weights["gate"])) * F.linear(x, weights["up"]), weights["down"])


class Version2(nn.Module):
    """The same function with fewer operators, and without a tensor of scores."""

    def __init__(self, weights: dict[str, Tensor], heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.o, self.down = nn.Parameter(weights["o"].clone()), nn.Parameter(weights["down"].clone())
        # hole: join
        self.register_buffer("qkv", torch.cat([weights[name] for name in "qkv"]))
        self.register_buffer("gate_up", torch.cat([weights["gate"], weights["up"]]))
        # end: join

    def forward(self, x: Tensor) -> Tensor:
        # hole: attention
        # Views of one product: `kv_heads` may be fewer than `heads`, so the parts are not equal.
        joined = F.linear(x, self.qkv).unflatten(-1, (self.heads + 2 * self.kv_heads, -1)).transpose(1, 2)
        q, k, v = joined.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        # No mask in memory, and no repeated keys and values.
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        # end: attention
        x = x + F.linear(out.transpose(1, 2).flatten(-2), self.o)
        # hole: gate-up
        gate, up = F.linear(x, self.gate_up).chunk(2, dim=-1)
        # end: gate-up
        return x + F.linear(F.silu(gate) * up, self.down)


def exponent(bytes_short: float, bytes_long: float, short: int, long: int) -> float:
    """How memory grows between two lengths: 1 if in proportion to the length, 2 if with its square."""
    # hole: exponent
    return math.log(bytes_long / bytes_short) / math.log(long / short)
    # end: exponent
