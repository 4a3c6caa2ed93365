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
        new_m = torch.maximum(m, scores.amax(-1, keepdim=True))
        # end: maximum
        # hole: rescale
        # The old sums are relative to the old maximum. exp(m - new_m) makes them relative to the new one.
        # In the first tile m is -inf, and the factor is 0.
        factor = torch.exp(m - new_m)
        # end: rescale
        weights = torch.exp(scores - new_m)
        # hole: sums
        l = l * factor + weights.sum(-1, keepdim=True)
        o = o * factor + weights @ v[start : start + tile]
        # end: sums
        m = new_m
    return o / l
