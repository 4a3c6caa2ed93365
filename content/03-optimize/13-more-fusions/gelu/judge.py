"""The kernel in Triton's interpreter, for small and large gates."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.nn import functional as F


def check(answer, gate, up, atol=2e-5, rtol=2e-5):
    # float32: exp of numbers up to some tens multiplies the rounding of its argument; 1e-5 is enough for it.
    exact = F.gelu(gate.double(), approximate="tanh") * up.double()
    expect_close(answer.gelu_mul(gate, up), exact, atol=atol, rtol=rtol)


def case_values(answer, random):
    """Gates of about 1, in rows of 64"""
    check(answer, tensor(random, 3, 64), tensor(random, 3, 64))


def case_tail(answer, random):
    """Rows of 65, 63 and 130 columns"""
    for columns in (63, 65, 130):
        check(answer, tensor(random, 2, columns), tensor(random, 2, columns))


def case_one(answer, random):
    """One row of one column"""
    check(answer, tensor(random, 1, 1).abs() + 0.5, tensor(random, 1, 1).abs() + 0.5)


def case_large(answer, random):
    """Gates from -100 to 100: finite, and right"""
    gate = torch.linspace(-100, 100, 64).repeat(2, 1) + random.uniform(-1, 1)
    got = answer.gelu_mul(gate, torch.ones(2, 64))
    bad = got.isnan().nonzero()
    where = f"NaN for a gate of {gate[tuple(bad[0])].item():.1f}" if len(bad) else ""
    expect(len(bad) == 0, where)
    check(answer, gate, tensor(random, 2, 64))


def case_halves(answer, random):
    """The halves of one joined projection"""
    both = tensor(random, 4, 128)
    check(answer, both[:, :64], both[:, 64:])


def case_float16(answer, random):
    """float16, computed in float32"""
    gate, up = tensor(random, 2, 64, dtype=torch.float16), tensor(random, 2, 64, dtype=torch.float16)
    # One rounding to float16 at the end.
    check(answer, gate, up, atol=1e-3, rtol=1e-3)


class Recorder:
    """Stands in for the kernel and counts its launches."""

    def __init__(self, kernel):
        self.kernel, self.launches = kernel, 0

    def __getitem__(self, grid):
        self.launches += 1
        return self.kernel[grid]


def case_kernel(answer, random):
    """One launch of the kernel"""
    recorder = Recorder(answer.gelu_mul_kernel)
    answer.gelu_mul_kernel = recorder
    try:
        check(answer, tensor(random, 2, 64), tensor(random, 2, 64))
    finally:
        answer.gelu_mul_kernel = recorder.kernel
    expect(recorder.launches == 1, f"{recorder.launches} launches of `gelu_mul_kernel`, expected 1")
