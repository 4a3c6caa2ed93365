"""Greedy decoding: a prompt, then one token after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hipward_kernels.models.cache import GrowingCache, StaticCache

if TYPE_CHECKING:
    from hipward_kernels.models.cache import Cache
    from hipward_kernels.models.llama import TinyLlama


def new_cache(model: TinyLlama, batch: int, length: int) -> Cache:
    """An empty cache of the kind selected by the model's switches, for `length` tokens of `batch` sequences."""
    if length > model.config.max_positions:
        raise ValueError(f"{length} tokens, but the model has positions for {model.config.max_positions}")
    weight = model.embed_tokens.weight
    if model.switches.static_cache:
        return StaticCache(model.config, batch, length, weight.dtype, weight.device)
    return GrowingCache(model.config)


def likeliest(logits: Tensor) -> Tensor:
    """`[B, 1, vocab]` to the tokens with the largest logits, `[B, 1]`."""
    return logits.argmax(-1)


@torch.no_grad()
def generate(model: TinyLlama, prompt: Tensor, count: int) -> Tensor:
    """Continues `prompt`, `[B, S]`, by `count` tokens, `[B, count]`, each the likeliest."""
    cache = new_cache(model, prompt.shape[0], prompt.shape[1] + count)
    tokens = [likeliest(model.prefill(prompt, cache))]
    while len(tokens) < count:
        tokens.append(likeliest(model.decode(tokens[-1], cache)))
    return torch.cat(tokens[:count], dim=1)
