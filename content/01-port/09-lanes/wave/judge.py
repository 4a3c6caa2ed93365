"""The kernels run as gfx942 machine code in the emulator: a wavefront has 64 lanes."""

import torch
from hipward_kernels.exercise import tensor
from hipward_kernels.exercise.kernel import uninitialized

ROWS = 3


def case_sums(answer, random):
    """Each block has the sum of its 256 numbers"""
    # Integers: a sum is exact, so a missing or doubled value always shows.
    x = tensor(random, ROWS, 256, dtype=torch.int32, low=1, high=1000).float()
    run = answer.launch("row_sums", {"x": x, "sums": uninitialized(ROWS)}, grid=ROWS, block=256)
    run.expect_close("sums", x.sum(1))


def case_ranks(answer, random):
    """Each lane counts the positive numbers of all lanes before it"""
    x = tensor(random, 2, 2, 64)  # blocks, wavefronts, lanes
    x[..., 1] = 1.0  # so that no count is right by chance
    run = answer.launch("ranks", {"x": x, "rank": uninitialized(2, 2, 64, dtype=torch.int32)}, grid=2, block=128)
    votes = (x > 0).int()
    run.expect_close("rank", votes.cumsum(-1) - votes)
