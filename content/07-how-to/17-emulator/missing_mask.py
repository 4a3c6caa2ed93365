# test: run
"""The row sum without its mask: what the emulator reports, and what only the comparison finds."""

import torch
import triton
import triton.language as tl
from hipward_kernels.emulate import launch


# anchor: kernel
@triton.jit
def row_sum(x_ptr, sums_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + column)
    tl.store(sums_ptr + row, tl.sum(x, axis=0))
    # end: kernel


# anchor: launch
x = torch.ones(3, 100)
sums = torch.zeros(3)
report = launch("gfx942", row_sum, (3,), (x, sums, 100, x.stride(0)), {"BLOCK": 128}, num_warps=2)
for finding in report.findings:
    print(f"{finding.kind} at {finding.source}, {finding.occurrences} time(s)")
    print(f"workgroup {finding.workgroup}, wavefront {finding.wavefront}, lanes {finding.lanes}")
    print(finding.message)
print("sums", sums.tolist())
# end: launch
assert [(finding.kind, finding.workgroup) for finding in report.findings] == [("out-of-bounds", [2, 0, 0])]
assert sums.tolist() == [128, 128, 100]
