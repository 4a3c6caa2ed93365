"""Gradients of the norm in Triton's interpreter, compared with float64."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch
from hipward_kernels.exercise import expect, expect_close, tensor

# Sums of up to 65 float32 products of values up to about 10: some hundred units of 1.2e-7.
CLOSE = {"atol": 3e-5, "rtol": 3e-5}


def gradients(answer, random, rows, columns, eps=1e-6):
    """The learner's gradients and those in float64, for x and weight."""
    x, weight, dy = tensor(random, rows, columns), tensor(random, columns), tensor(random, rows, columns)
    exact_x, exact_weight = x.double().requires_grad_(), weight.double().requires_grad_()
    y = exact_x * torch.rsqrt(exact_x.square().mean(-1, keepdim=True) + eps) * exact_weight
    want = torch.autograd.grad(y, (exact_x, exact_weight), dy.double())
    x.requires_grad_(), weight.requires_grad_()
    got = torch.autograd.grad(answer.rms_norm(x, weight, eps), (x, weight), dy, allow_unused=True)
    for name, gradient in zip(("x", "weight"), got, strict=True):
        expect(gradient is not None, f"`backward` returns no gradient for {name}")
    return got, want


def case_dx(answer, random):
    """dx of one row of 8 columns"""
    got, want = gradients(answer, random, 1, 8)
    expect_close(got[0], want[0], **CLOSE)


def case_dweight(answer, random):
    """dweight of one row of 8 columns"""
    got, want = gradients(answer, random, 1, 8)
    expect_close(got[1], want[1], **CLOSE)


def case_tail(answer, random):
    """dx of rows of 7, 63 and 65 columns"""
    for columns in (7, 63, 65):
        got, want = gradients(answer, random, 2, columns)
        expect_close(got[0], want[0], **CLOSE)


def case_many_rows(answer, random):
    """13 rows in 4 programs: both gradients"""
    got, want = gradients(answer, random, 13, 9)
    expect_close(got[0], want[0], **CLOSE)
    expect_close(got[1], want[1], **CLOSE)


def case_one_column(answer, random):
    """One column: the norm of x is its sign, so dx is nearly 0"""
    got, want = gradients(answer, random, 3, 1, eps=0.5)
    expect_close(got[0], want[0], **CLOSE)


class Recorder:
    """Stands in for the kernel and records the grid of each launch."""

    def __init__(self, kernel):
        self.kernel, self.grids = kernel, []

    def __getitem__(self, grid):
        self.grids.append(tuple(grid))
        return self.kernel[grid]


def case_kernel(answer, random):
    """The backward is one launch of the kernel, with at most 4 programs"""
    recorder = Recorder(answer.backward_kernel)
    answer.backward_kernel = recorder
    try:
        gradients(answer, random, 6, 5)
    finally:
        answer.backward_kernel = recorder.kernel
    expect(len(recorder.grids) == 1, f"{len(recorder.grids)} launches of `backward_kernel`, expected 1")
    expect(recorder.grids[0][0] <= 4, f"{recorder.grids[0][0]} programs: each writes a partial sum, expected at most 4")
