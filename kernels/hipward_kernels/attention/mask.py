"""Says what an attention mask is: nothing, causal, or something that only a general kernel can apply.

Flash kernels know two patterns, full and causal. A mask that is one of them in disguise, as models build them, need not
be stored or read at all.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor


class MaskKind(Enum):
    """What a mask lets each query see."""

    FULL = "full"
    """Every key."""
    CAUSAL = "causal"
    """The keys up to its own position, counted from the end: the last query sees every key (lower-right)."""
    OTHER = "other"
    """Anything else."""


def visible(mask: Tensor) -> Tensor:
    """Which keys a query sees, as booleans: true in a boolean mask, zero in an additive one."""
    return mask if mask.dtype == torch.bool else mask == 0


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """The lower-right causal mask `[queries, keys]`: query `i` sees the keys up to `i + keys - queries`."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def classify(mask: Tensor | None, queries: int, keys: int) -> MaskKind:
    """Reads a mask's values, which waits for the GPU: call it once for a mask, not in every layer.

    Args:
        mask: Shape `[..., queries, keys]`, or broadcastable to it: boolean (true sees) or additive (0 sees, the
            most negative number or `-inf` does not). None sees everything. An additive mask with any other value is
            `OTHER`: it is a bias.
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
