"""The kernel in Triton's interpreter, between memory that it must not touch."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch
from hipward_kernels.exercise import expect, expect_close, tensor

MARGIN = 2048
UNTOUCHED = -77.0


def between(values, fill, stride):
    """The values, with `fill` behind each row up to `stride` and behind the last row."""
    rows, columns = values.shape
    memory = torch.full((rows * stride + MARGIN,), fill, dtype=values.dtype)
    view = memory[: rows * stride].view(rows, stride)[:, :columns]
    view.copy_(values)
    return view, memory


def check(answer, random, rows, columns, dtype=torch.float32, gap=0, eps=1e-6, scale=1.0, atol=2e-6):
    values = scale * tensor(random, rows, columns, dtype=dtype)
    x, _ = between(values, float("nan"), columns + gap)
    weight_memory, _ = between(tensor(random, 1, columns, dtype=dtype), float("nan"), columns)
    weight = weight_memory[0]
    y, memory = between(torch.full((rows, columns), float("nan"), dtype=dtype), UNTOUCHED, columns + gap)
    exact = x.double() * torch.rsqrt(x.double().square().mean(-1, keepdim=True) + eps) * weight.double()
    answer.rms_norm(x, weight, y, eps)
    expect_close(y, exact, atol=atol, rtol=atol)
    outside = memory.clone()
    outside[: rows * (columns + gap)].view(rows, columns + gap)[:, :columns] = UNTOUCHED
    where = (outside != UNTOUCHED).nonzero()
    expect(len(where) == 0, f"{len(where)} elements outside of `y` were written")


def case_float32(answer, random):
    """float32, 3 rows of 64, with a reference in float64"""
    # Products and a sum of 64 float32 values: a few units of 1.2e-7, on values up to about 4.
    check(answer, random, 3, 64)


def case_tail(answer, random):
    """Rows of 7, 63, 65 and 1000 columns, which are no powers of two"""
    for columns in (7, 63, 65, 1000):
        check(answer, random, 3, columns, atol=4e-6)


def case_one(answer, random):
    """One row of one column, with a large eps"""
    check(answer, random, 1, 1, eps=random.uniform(0.5, 2.0))
    check(answer, random, 2, 3, gap=5, eps=random.uniform(0.5, 2.0))


def case_zeros(answer, random):
    """A row of zeros stays zero"""
    check(answer, random, 2, 8, scale=0.0)


def case_strided(answer, random):
    """Rows with a gap between them"""
    check(answer, random, 4, 33, gap=31, atol=4e-6)


def case_float16(answer, random):
    """float16 input and output, with a sum in float32"""
    # One rounding to float16 at the end: 2**-11 of values up to about 4.
    check(answer, random, 3, 65, dtype=torch.float16, atol=2e-3)
    # 300 squared is above 65504, the largest float16.
    check(answer, random, 2, 65, dtype=torch.float16, scale=300.0, atol=2e-3)


class Recorder:
    """Stands in for the kernel and records the grid of each launch."""

    def __init__(self, kernel):
        self.kernel, self.grids = kernel, []

    def __getitem__(self, grid):
        self.grids.append(tuple(grid) if not callable(grid) else ())
        return self.kernel[grid]


def case_launch(answer, random):
    """One launch of the kernel, with one program for each row"""
    recorder = Recorder(answer.rms_norm_kernel)
    answer.rms_norm_kernel = recorder
    try:
        check(answer, random, 5, 9)
    finally:
        answer.rms_norm_kernel = recorder.kernel
    expect(recorder.grids == [(5,)], f"grids of the launches: {recorder.grids}, expected [(5,)]")
