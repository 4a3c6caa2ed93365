# fails: case_tiles, case_tail, case_large, case_growing
# message: `o` needs the same factor as `l`.
import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    queries, width = q.shape
    m = torch.full((queries, 1), float("-inf"))
    l = torch.zeros(queries, 1)
    o = torch.zeros(queries, width)
    for start in range(0, k.shape[0], tile):
        scores = q @ k[start : start + tile].T * width**-0.5
        new_m = torch.maximum(m, scores.amax(-1, keepdim=True))
        factor = torch.exp(m - new_m)
        weights = torch.exp(scores - new_m)
        l = l * factor + weights.sum(-1, keepdim=True)
        o = o + weights @ v[start : start + tile]
        m = new_m
    return o / l
