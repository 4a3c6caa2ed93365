# test: run
"""Sums each row of a matrix with the gfx942 machine code of a Triton kernel, executed on the CPU."""

import torch
import triton
import triton.language as tl
from hipward_kernels.emulate import launch


# anchor: kernel
@triton.jit
def row_sum(x_ptr, sums_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + column, mask=column < columns, other=0.0)
    tl.store(sums_ptr + row, tl.sum(x, axis=0))
    # end: kernel


# anchor: launch
torch.manual_seed(0)
for columns in (1, 65, 1000):
    x = torch.randn(3, columns)
    sums = torch.full((3,), float("nan"))
    block = triton.next_power_of_2(columns)
    report = launch("gfx942", row_sum, (3,), (x, sums, columns, x.stride(0)), {"BLOCK": block}, num_warps=2)
    torch.testing.assert_close(sums, x.double().sum(1).float(), rtol=1e-5, atol=1e-5)
    assert not report.findings
    print(f"{columns:4} columns: agrees with PyTorch, {sum(report.counts['instructions'].values())} instructions")
# end: launch
