"""The kernel runs as gfx942 machine code in the emulator, matrix instructions included."""

import torch
from hipward_kernels.exercise import tensor
from hipward_kernels.exercise.kernel import uninitialized


def compare(answer, random, k):
    # Small integers: every sum is exact.
    a, b = (tensor(random, *shape, dtype=torch.int32, low=1, high=30).float() for shape in ((16, k), (k, 16)))
    run = answer.launch("product", {"a": a, "b": b, "c": uninitialized(16, 16), "k": k}, grid=1, block=64)
    run.expect_close("c", a @ b)


def case_one(answer, random):
    """One instruction: 16 x 4 times 4 x 16"""
    compare(answer, random, 4)


def case_sum(answer, random):
    """Eight instructions: 16 x 32 times 32 x 16"""
    compare(answer, random, 32)
