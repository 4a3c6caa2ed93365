"""Attention in plain PyTorch: the definition that the other routes must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from hipward_kernels.attention.mask import causal_mask

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.attention.call import Call


def attention(call: Call) -> Tensor:
    """See `hipward_kernels.attention`."""
    # [B, H, S, D]; each head of keys and values serves a group of query heads.
    q = call.query.transpose(1, 2)
    groups = call.query.shape[2] // call.key.shape[2]
    k, v = (x.transpose(1, 2).repeat_interleave(groups, dim=1) for x in (call.key, call.value))
    wide = q.dtype if q.dtype == torch.float64 else torch.float32
    scores = (q @ k.transpose(-1, -2)).to(wide) * call.scale
    if call.mask is not None:
        scores = scores.masked_fill(~call.mask, -torch.inf) if call.mask.dtype == torch.bool else scores + call.mask
    if call.causal:
        scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2], q.device), -torch.inf)
    weights = F.dropout(scores.softmax(-1).to(q.dtype), call.dropout)
    return (weights @ v).transpose(1, 2)
