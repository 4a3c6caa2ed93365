"""Attention compared with float64, and the arguments that reach SDPA."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

# float32, sums of at most 9 products: a few units of 1.2e-7, on values up to about 4.
CLOSE = {"atol": 5e-6, "rtol": 5e-6}


class Calls(TorchFunctionMode):
    """Records the calls of SDPA."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
            self.seen.append(dict(zip(names, args, strict=False)) | (kwargs or {}))
        return func(*args, **(kwargs or {}))


def run(answer, random, queries, keys, mask, heads=(2, 2)):
    """Checks the values; returns the arguments of the call."""
    q = tensor(random, 2, heads[0], queries, 8)
    k, v = tensor(random, 2, heads[1], keys, 8), tensor(random, 2, heads[1], keys, 8)
    wide = [each.double().repeat_interleave(heads[0] // each.shape[1], 1) for each in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(-1, -2) / 8**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    exact = scores.softmax(-1) @ wide[2]
    with Calls() as calls:
        got = answer.attention(q.clone(), k.clone(), v.clone(), None if mask is None else mask.clone())
    expect_close(got, exact, **CLOSE)
    expect(len(calls.seen) == 1, f"{len(calls.seen)} calls of scaled_dot_product_attention, expected 1")
    return calls.seen[0]


def lower_right(queries, keys):
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def without_mask(call, causal):
    expect(call.get("attn_mask") is None, "a mask is passed, although the pattern needs none")
    expect(bool(call.get("is_causal")) == causal, f"is_causal is {bool(call.get('is_causal'))}, expected {causal}")


def case_full(answer, random):
    """No mask, and a mask of ones: all keys are visible"""
    without_mask(run(answer, random, 3, 5, None), causal=False)
    without_mask(run(answer, random, 3, 5, torch.ones(3, 5, dtype=torch.bool)), causal=False)


def case_causal(answer, random):
    """A triangle of 7 × 7 is the flag"""
    without_mask(run(answer, random, 7, 7, lower_right(7, 7)), causal=True)


def case_decode(answer, random):
    """One query with a cache of 9 keys sees all of them"""
    without_mask(run(answer, random, 1, 9, lower_right(1, 9)), causal=False)


def case_chunk(answer, random):
    """Three new queries with a cache: 3 × 9, aligned to the lower right"""
    run(answer, random, 3, 9, lower_right(3, 9))


def case_other(answer, random):
    """A sliding window and a padded key: the mask itself"""
    window = lower_right(7, 7) & ~lower_right(7, 7).tril(-random.randint(2, 3))
    run(answer, random, 7, 7, window)
    padded = torch.ones(5, 5, dtype=torch.bool)
    padded[:, -random.randint(1, 3) :] = False
    run(answer, random, 5, 5, padded)


def case_gqa(answer, random):
    """8 query heads share 2 heads of keys, which are not repeated"""
    call = run(answer, random, 4, 4, lower_right(4, 4), heads=(8, 2))
    expect(call["key"].shape[1] == 2, f"SDPA received {call['key'].shape[1]} heads of keys, expected 2")
    run(answer, random, 1, 6, None, heads=(6, 3))


def case_kind(answer, random):
    """`kind` compares values, also for rectangles"""
    ones = torch.ones(2, 5, dtype=torch.bool)
    for mask, expected in ((None, "full"), (ones, "full"), (lower_right(2, 5), "causal"), (ones.tril(), "other")):
        got = answer.kind(mask, 2, 5)
        expect(got == expected, f"kind is {got!r}, expected {expected!r}, for {None if mask is None else mask.int().tolist()}")
    square = torch.ones(5, 5, dtype=torch.bool)
    expect(answer.kind(square.triu(), 5, 5) == "other", "an upper triangle is not causal")
