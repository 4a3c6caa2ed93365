"""Attention of one head, compared with float64, and the largest tensor that it makes."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.overrides import TorchFunctionMode

# float32, sums of up to 130 products: some ten units of 1.2e-7, on values up to about 4.
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def check(answer, q, k, v, tile):
    exact = torch.softmax(q.double() @ k.double().T / q.shape[-1] ** 0.5, -1) @ v.double()
    expect_close(answer.attention(q.clone(), k.clone(), v.clone(), tile), exact, **CLOSE)


def some(random, queries, keys, width=8):
    return tensor(random, queries, width), tensor(random, keys, width), tensor(random, keys, width)


def case_one_tile(answer, random):
    """All keys in one tile"""
    check(answer, *some(random, 3, 4), tile=4)


def case_tiles(answer, random):
    """64 keys in tiles of 16"""
    check(answer, *some(random, 5, 64), tile=16)


def case_tail(answer, random):
    """63, 65 and 129 keys in tiles of 16: the last tile is not full"""
    for keys in (63, 65, 129):
        check(answer, *some(random, 3, keys), tile=16)


def case_short(answer, random):
    """One query and one key, in a tile of 16"""
    check(answer, *some(random, 1, 1), tile=16)


def case_large(answer, random):
    """Scores of about 100, whose exp is infinite in float32"""
    q, k, v = some(random, 2, 32)
    direction = torch.ones(8)
    growing = torch.linspace(8, 10, 32)[:, None]
    check(answer, 4 * direction + 0.1 * q, growing * direction + 0.1 * k, v, tile=8)


def case_growing(answer, random):
    """Scores that grow from tile to tile"""
    q, k, v = some(random, 2, 32)
    check(answer, q.abs() + 0.5, k * 0.1 + torch.linspace(0, 3, 32)[:, None], v, tile=8)


def case_falling(answer, random):
    """Scores that fall by about 150 from the first tile to the last"""
    q, k, v = some(random, 2, 32)
    check(answer, 0.1 * q + 5, 0.1 * k + torch.linspace(10, -10, 32)[:, None], v, tile=8)


class Largest(TorchFunctionMode):
    """The size of the largest tensor with memory of its own that a function returns."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and not out._is_view():
            self.elements = max(self.elements, out.numel())
        return out


def case_memory(answer, random):
    """No tensor is larger than one tile of scores"""
    q, k, v = some(random, 40, 200)
    with Largest() as seen:
        answer.attention(q, k, v, 16)
    limit = 40 * 16
    expect(seen.elements <= limit, f"a tensor of {seen.elements} elements; a tile of scores has {limit}")
