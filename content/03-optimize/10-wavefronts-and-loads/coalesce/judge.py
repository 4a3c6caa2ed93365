"""The kernel runs as gfx942 machine code in the emulator, which counts the segments that each load touches."""

import torch
from hipward_kernels.exercise import expect, tensor
from hipward_kernels.exercise.kernel import uninitialized

ROWS = 4


def run(answer, random):
    # Integers: a sum is exact, so a missing or doubled value always shows.
    x = tensor(random, ROWS, 1024, dtype=torch.int32, low=1, high=1000).float()
    return x, answer.launch("row_sums", {"x": x, "sums": uninitialized(ROWS)}, grid=ROWS, block=64)


def case_values(answer, random):
    """Each wavefront has the sum of its row"""
    x, done = run(answer, random)
    done.expect_close("sums", x.sum(1))


def case_segments(answer, random):
    """Each load uses every byte of the 64-byte segments it touches"""
    for load in run(answer, random)[1].loads:
        used = load.bytes / (64 * load.segments)
        message = f"{load.instruction} touches {load.segments // load.executions} segments and uses {used:.0%} of them"
        expect(used == 1, message, line=load.line)


def case_wide(answer, random):
    """Each lane loads 16 bytes at once: 4 loads for a row"""
    for load in run(answer, random)[1].loads:
        size = load.bytes // load.executions // 64
        expect(size == 16, f"{load.instruction} loads {size} bytes for each lane, expected 16", line=load.line)
