"""Attention is compared with its definition in float64, for prefill, decoding and chunked prefill."""

import sys
from types import ModuleType

import torch
import torch.nn.attention
from hipward_kernels.exercise import expect_close, tensor


def lower_right(queries, keys):
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


# Answers may use PyTorch's masks. The import of their module takes seconds in each case, because it also imports
# the compiler; this module has the same masks as boolean tensors.
bias = ModuleType("torch.nn.attention.bias")
bias.causal_lower_right = lower_right
bias.causal_upper_left = lambda queries, keys: torch.ones(queries, keys, dtype=torch.bool).tril()
sys.modules[bias.__name__] = torch.nn.attention.bias = bias


def definition(q, k, v, causal, scale):
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, dim=2), v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        queries, keys = scores.shape[-2:]
        position = torch.arange(queries)[:, None] + keys - queries
        scores = scores.masked_fill(torch.arange(keys) > position, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def compare(answer, random, queries, keys, *, causal=True, heads=4, kv_heads=4, scale=0.25):
    q = tensor(random, 2, queries, heads, 16, dtype=torch.float64)
    k, v = (tensor(random, 2, keys, kv_heads, 16, dtype=torch.float64) for _ in range(2))
    expected = definition(q.clone(), k.clone(), v.clone(), causal, scale)
    got = answer.attention(q, k, v, causal=causal, scale=scale)
    # float64 throughout: only the order of summation may differ
    expect_close(got, expected, atol=1e-9, rtol=1e-9)


def case_prefill(answer, random):
    """Prefill: as many queries as keys"""
    for length in (1, 7, 8, 9, 33):
        compare(answer, random, length, length)


def case_decode(answer, random):
    """Decoding: one query and a cache of older keys"""
    for keys in (2, 8, 31, 65):
        compare(answer, random, 1, keys)


def case_chunk(answer, random):
    """Chunked prefill: some queries and more keys"""
    for queries, keys in ((2, 3), (3, 8), (7, 33), (16, 17)):
        compare(answer, random, queries, keys)


def case_grouped(answer, random):
    """Each key head serves several neighbouring query heads"""
    for kv_heads in (1, 2):
        compare(answer, random, 5, 5, kv_heads=kv_heads)


def case_full(answer, random):
    """Without `causal`, every query sees every key"""
    compare(answer, random, 3, 8, causal=False)
    compare(answer, random, 8, 8, causal=False)


def case_scale(answer, random):
    """The scale is the one that was passed"""
    compare(answer, random, 6, 6, scale=random.uniform(0.02, 0.1))


def case_views(answer, random):
    """Queries, keys and values that are views of one tensor"""
    heads, kv_heads, length = 4, 2, 9
    qkv = tensor(random, 2, length, heads + 2 * kv_heads, 16, dtype=torch.float64)
    q, k, v = qkv.split([heads, kv_heads, kv_heads], dim=2)
    expected = definition(q.clone(), k.clone(), v.clone(), True, 0.25)
    expect_close(answer.attention(q, k, v, causal=True, scale=0.25), expected, atol=1e-9, rtol=1e-9)
