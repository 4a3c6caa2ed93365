"""The model: embeddings, layers, a norm, and a head that shares the embeddings' weight.

Each layer receives the output of the previous layer and the residual stream before the addition of this output. So the
addition can be fused with the following norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.decoding import (
    MOST_SEQUENCES,
    decode_attention,
    decode_linear,
    decode_norm_linear,
    decode_norm_qkv,
    decode_norm_swiglu,
)
from hipward_kernels.models.attention import Attention
from hipward_kernels.models.cache import StaticCache
from hipward_kernels.models.feed_forward import FeedForward
from hipward_kernels.ops import add_rmsnorm, cross_entropy, rmsnorm
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.models.cache import Cache, LayerCache
    from hipward_kernels.models.config import Config, Switches

INITIAL_DEVIATION = 0.02
"""Standard deviation of the weights' initial values, as in GPT-2 and Llama."""


def plain_rmsnorm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """RMSNorm as models usually write it: the baseline. See `hipward_kernels.ops.rmsnorm`."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps))).to(x.dtype)


class Norm(nn.Module):
    """Root mean square normalization, with the residual addition before it."""

    def __init__(self, config: Config, switches: Switches) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))
        self.eps = config.norm_eps
        self.switches = switches

    def forward(self, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both of shape `[..., hidden]`; returns the normalized sum, and the sum."""
        if residual is not None and self.switches.add_rmsnorm_kernel:
            return add_rmsnorm(x, residual, self.weight, self.eps)
        total = x if residual is None else residual + x
        norm = rmsnorm if self.switches.rmsnorm_kernel else plain_rmsnorm
        return norm(total, self.weight, self.eps), total


class Layer(nn.Module):
    """Attention and feed-forward, each after a norm."""

    def __init__(self, config: Config, switches: Switches) -> None:
        super().__init__()
        self.input_layernorm = Norm(config, switches)
        self.self_attn = Attention(config, switches)
        self.post_attention_layernorm = Norm(config, switches)
        self.mlp = FeedForward(config, switches)

    def forward(
        self, x: Tensor, residual: Tensor | None, cos: Tensor, sin: Tensor, cache: LayerCache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Output of the layer, and the residual stream that it is added to; both `[B, S, hidden]`."""
        x, residual = self.input_layernorm(x, residual)
        x = self.self_attn(x, cos, sin, cache)
        x, residual = self.post_attention_layernorm(x, residual)
        return self.mlp(x), residual


class TinyLlama(nn.Module):
    """A Llama-style language model with the parameter names of Hugging Face."""

    def __init__(self, config: Config, switches: Switches) -> None:
        super().__init__()
        self.config = config
        self.switches = switches
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, switches) for _ in range(config.num_layers))
        self.norm = Norm(config, switches)
        self._make_tables()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=INITIAL_DEVIATION)
        if switches.compile:
            for layer in self.layers:
                # All layers run the same code, so it is compiled once.
                layer.compile(fullgraph=True)

    def _make_tables(self) -> None:
        # Not buffers: these would be rounded in a 16-bit model, and lose precision in a float64 model.
        weight = self.embed_tokens.weight
        wide = torch.float64 if weight.dtype == torch.float64 else torch.float32
        self.cos, self.sin = rope_table(
            self.config.max_positions, self.config.head_dim, self.config.rope_base, device=weight.device, dtype=wide
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> TinyLlama:  # noqa: FBT001, FBT002
        """Moves or converts the model, and updates the tables."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._make_tables()
        return self

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Tensor:
        """Logits of the token after each token; with `labels`, their mean cross-entropy instead.

        Args:
            tokens: `[B, S]`, int64.
            labels: `[B, S]`, int64: the token after each token. They are not shifted here.

        Returns:
            `[B, S, vocab]` in the dtype of the computation; or a scalar in float32 (float64 in a float64 model).
        """
        logits = self.run(tokens, self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]])
        if labels is None:
            return logits
        if self.switches.cross_entropy_kernel:
            return cross_entropy(logits, labels)
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return F.cross_entropy(wide.flatten(0, 1), labels.flatten())

    def prefill(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Fills an empty cache from `tokens`, `[B, S]`; returns the logits after the last one, `[B, 1, vocab]`."""
        length = tokens.shape[1]
        logits = self.run(tokens, self.cos[:length], self.sin[:length], cache)
        cache.advance(length)
        return logits[:, -1:]

    def decode(self, token: Tensor, cache: Cache) -> Tensor:
        """One more token, `[B, 1]`; returns the logits after it, `[B, 1, vocab]`."""
        if isinstance(cache, StaticCache) and self.decodes_in_kernels(len(token)):
            logits = self.decode_in_kernels(token, cache)
        else:
            logits = self.run(token, cache.next_row(self.cos), cache.next_row(self.sin), cache)
        cache.advance(1)
        return logits

    def decodes_in_kernels(self, sequences: int) -> bool:
        """Whether a step of that many sequences runs in the kernels of `hipward_kernels.decoding`."""
        return self.switches.decode_kernels and sequences <= MOST_SEQUENCES

    def decode_in_kernels(self, token: Tensor, cache: StaticCache) -> Tensor:
        """`decode` without the advance of the cache; see `decodes_in_kernels`."""
        x, residual = self.embed_tokens(token), None
        layer: Any
        for layer, kept in zip(self.layers, cache.layers, strict=True):
            norm, attention, place = layer.input_layernorm, layer.self_attn, cache.position
            query, residual = decode_norm_qkv(
                x, residual, norm.weight, norm.eps, attention.qkv_proj.weight, self.cos, self.sin,
                kept.k, kept.v, place, self.config.rope_layout,
            )  # fmt: skip
            x = decode_linear(decode_attention(query, kept.k, kept.v, place).flatten(-2), attention.o_proj.weight)
            norm = layer.post_attention_layernorm
            hidden, residual = decode_norm_swiglu(x, residual, norm.weight, norm.eps, layer.mlp.gate_up_proj.weight)
            x = decode_linear(hidden, layer.mlp.down_proj.weight)
        logits, _ = decode_norm_linear(x, residual, self.norm.weight, self.norm.eps, self.embed_tokens.weight)
        return logits

    def run(self, tokens: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None = None) -> Tensor:
        """Logits `[B, S, vocab]`, given the rows of the rotary tables for the tokens' positions."""
        x = self.embed_tokens(tokens)
        if torch.amp.is_autocast_available(x.device.type) and torch.is_autocast_enabled(x.device.type):
            # The residual stream has the dtype of the computation in every version.
            x = x.to(torch.get_autocast_dtype(x.device.type))
        residual = None
        for index, layer in enumerate(self.layers):
            if cache is None:
                x, residual = layer(x, residual, cos, sin)
            else:
                # Not the compiled call: keys and values have another shape or position for each token.
                x, residual = layer.forward(x, residual, cos, sin, cache.layers[index])
        x, _ = self.norm(x, residual)
        return F.linear(x, self.embed_tokens.weight)
