import torch


def attention(q, k, v, tile):
    """Keeps the normalized result of the tiles so far and the logarithm of its sum."""
    queries, width = q.shape
    total = torch.full((queries, 1), float("-inf"))
    out = torch.zeros(queries, width)
    for keys, values in zip(k.split(tile), v.split(tile), strict=True):
        scores = q @ keys.T / width**0.5
        here = torch.logsumexp(scores, -1, keepdim=True)
        both = torch.logaddexp(total, here)
        out = out * torch.exp(total - both) + torch.exp(scores - both) @ values
        total = both
    return out
