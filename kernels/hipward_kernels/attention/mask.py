"""Classifies attention masks: full, causal, or other.

Flash kernels support two patterns, full and causal. If the mask of a model has one of these patterns, it does not have
to be stored or read.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor


class MaskKind(Enum):
    """The keys that a mask makes visible to each query."""

    FULL = "full"
    """Every key."""
    CAUSAL = "causal"
    """The keys up to the query's position, where the last query sees every key (lower-right alignment)."""
    OTHER = "other"
    """Anything else."""


def visible(mask: Tensor) -> Tensor:
    """The visible keys as booleans: true in a boolean mask, zero in an additive one."""
    return mask if mask.dtype == torch.bool else mask == 0


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """The lower-right causal mask `[queries, keys]`: query `i` sees the keys up to `i + keys - queries`."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def classify(mask: Tensor | None, queries: int, keys: int) -> MaskKind:
    """Classifies a mask by its contents. This synchronizes with the GPU: call it once per mask, not in every layer.

    Args:
        mask: Shape `[..., queries, keys]`, or broadcastable to it: boolean (true is visible) or additive (0 is visible,
            the most negative number or `-inf` is not). None means full. An additive mask with any other value is a
            bias, which is `OTHER`.
        queries: Length of the queries.
        keys: Length of the keys.
    """
    if mask is None:
        return MaskKind.FULL
    seen = visible(mask)
    if mask.dtype != torch.bool:
        blocked = mask <= torch.finfo(mask.dtype).min
        if not bool((seen | blocked).all()):
            return MaskKind.OTHER
    if bool(seen.all()):
        return MaskKind.FULL
    seen = seen.expand(*seen.shape[:-2], queries, keys) if seen.dim() >= 2 else seen.expand(queries, keys)
    same = bool((seen == causal_mask(queries, keys, mask.device)).all())
    return MaskKind.CAUSAL if same else MaskKind.OTHER
