# fails: case_memory
# message: The whole score matrix is stored.
import torch


def attention(q, k, v, tile):
    return torch.softmax(q @ k.T * q.shape[-1] ** -0.5, -1) @ v
