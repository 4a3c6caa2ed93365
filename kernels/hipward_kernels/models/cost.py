"""Floating-point operations and bytes of a training step by formula, and the lower bound of its time.

The formulas count the work of the function and not that of a version, so the bound applies to all versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipward_kernels.models.config import Config

BACKWARD = 2
"""Products in the backward of a product, one for each factor (Kaplan et al. 2020, section 2.1,
https://arxiv.org/abs/2001.08361)."""

ADAMW_BYTES = 28
"""Bytes per parameter: weight, gradient and two moments are read, weight and moments written, 4 bytes each."""


@dataclass(frozen=True)
class Cost:
    """Cost of a training step."""

    matmul_flops: float
    """Operations of linear layers and the head: a multiplication and an addition count as two."""
    attention_flops: float
    """Operations of the visible scores of a causal mask, and of their product with the values."""
    elementwise_bytes: float
    """Bytes read and written by norms, RoPE, attention, SiLU×mul, loss and embeddings, each fused as in V4."""
    weight_bytes: float
    """Bytes read and written to convert weights and gradients between precisions, and by the optimizer."""

    @property
    def flops(self) -> float:
        """All of them."""
        return self.matmul_flops + self.attention_flops

    @property
    def bytes(self) -> float:
        """All of them."""
        return self.elementwise_bytes + self.weight_bytes

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes


@dataclass(frozen=True)
class Floor:
    """Lower bounds of a step's time on a device, in milliseconds."""

    compute_ms: float
    memory_ms: float

    @property
    def overlapped_ms(self) -> float:
        """Bound if arithmetic and memory traffic overlap perfectly: the roofline of Williams et al. 2009."""
        return max(self.compute_ms, self.memory_ms)

    @property
    def serial_ms(self) -> float:
        """Bound if they do not overlap, because each kernel is limited by one of the two."""
        return self.compute_ms + self.memory_ms


def parameters(config: Config) -> int:
    """Weights of the model; the head shares the embeddings'."""
    hidden, kv = config.hidden_size, config.num_kv_heads * config.head_dim
    layer = 2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * config.intermediate_size + 2 * hidden
    return config.num_layers * layer + hidden + config.vocab_size * hidden


def training_step(config: Config, batch_size: int, length: int, itemsize: int) -> Cost:
    """Cost of a step on `[batch_size, length]` tokens.

    `itemsize` is the bytes of a number that products are computed in: 2 for bfloat16, 4 for float32.
    """
    tokens = batch_size * length
    hidden, kv = config.hidden_size, config.num_kv_heads * config.head_dim
    weights = parameters(config)
    norms = (2 * config.num_layers + 1) * hidden
    matmul = 2 * tokens * (weights - norms)
    # Token t sees t of the keys: (length + 1) / 2 on average, for the scores and for the values.
    attention = config.num_layers * 2 * 2 * tokens * (length + 1) / 2 * hidden

    # Elements that are read or written for a token: forward, then backward.
    qkv = hidden + 2 * kv
    add_norm = 4 * hidden + 4 * hidden
    rope = 2 * qkv + 2 * qkv
    scores = (qkv + hidden) + (qkv + 2 * hidden + qkv)
    silu_mul = 3 * config.intermediate_size + 5 * config.intermediate_size
    layer = 2 * add_norm + rope + scores + silu_mul
    ends = 2 * hidden + 3 * config.vocab_size
    elementwise = tokens * itemsize * (config.num_layers * layer + ends)
    # Conversion: weights are read in float32 and written in the other dtype; gradients the reverse.
    conversion = 0 if itemsize == 4 else 2 * (4 + itemsize)
    return Cost(
        matmul_flops=float((1 + BACKWARD) * matmul),
        attention_flops=float((1 + BACKWARD) * attention),
        elementwise_bytes=float(elementwise),
        weight_bytes=float(weights * (ADAMW_BYTES + conversion)),
    )


def floor(cost: Cost, flops_per_second: float, bytes_per_second: float) -> Floor:
    """Lower bounds for rates that were measured on the device, or those of its data sheet."""
    return Floor(1e3 * cost.flops / flops_per_second, 1e3 * cost.bytes / bytes_per_second)
