"""Attention of one head, with the keys and values read tile by tile."""

import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    """softmax(q·kᵀ / √D)·v for q `[Q, D]`, k and v `[S, D]`, without a tensor of Q·S elements."""
    queries, width = q.shape
    m = torch.full((queries, 1), float("-inf"))  # largest score so far
    l = torch.zeros(queries, 1)  # sum of exp(score - m) so far
    o = torch.zeros(queries, width)  # sum of exp(score - m) · v so far
    for start in range(0, k.shape[0], tile):
        scores = q @ k[start : start + tile].T * width**-0.5
        # hole: maximum
        new_m = torch.zeros_like(m)
        # end: maximum
        # hole: rescale
        factor = 1.0
        # end: rescale
        weights = torch.exp(scores - new_m)
        # hole: sums
        l = weights.sum(-1, keepdim=True)
        o = weights @ v[start : start + tile]
        # end: sums
        m = new_m
    return o / l
