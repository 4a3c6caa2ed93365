"""Attention in plain PyTorch: the definition that the other routes must agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from hipward_kernels.attention.mask import causal_mask

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.attention.call import Attend, Call


def prepared(call: Call) -> Attend:
    """See `hipward_kernels.attention`."""
    groups = call.query.shape[2] // call.key.shape[2]
    causal, scale, dropout = call.causal, call.scale, call.dropout

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        # [B, H, S, D]; each head of keys and values serves a group of query heads.
        q = query.transpose(1, 2)
        k, v = (x.transpose(1, 2).repeat_interleave(groups, dim=1) for x in (key, value))
        wide = q.dtype if q.dtype == torch.float64 else torch.float32
        scores = (q @ k.transpose(-1, -2)).to(wide) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        if causal:
            scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2], q.device), -torch.inf)
        weights = F.dropout(scores.softmax(-1).to(q.dtype), dropout)
        return (weights @ v).transpose(1, 2)

    return attend
