# test: run
"""Counts memory transactions of a contiguous and of a strided load."""

import torch
import triton
import triton.language as tl
from hipward_kernels.emulate import launch


# anchor: kernel
@triton.jit
def copy(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at * stride))
    # end: kernel


# anchor: count
x = torch.randn(256 * 16)
for stride in (1, 16):
    y = torch.zeros(256)
    report = launch("gfx942", copy, (1,), (x, y, stride), {"BLOCK": 256}, num_warps=1)
    assert torch.equal(y, x[::stride][:256]) and not report.findings
    *loads, store = report.counts["accesses"]
    loads = [load for load in loads if load["bytes"] >= 256]  # leaves out the scalar loads of the arguments
    print(f"stride {stride}:", {name: count for name, count in report.counts["instructions"].items() if count})
    for kind, accesses in (("load", loads), ("store", [store])):
        bytes_used, segments = (sum(access[name] for access in accesses) for name in ("bytes", "segments64"))
        print(f"  {len(accesses)} {kind} instruction(s), {bytes_used} bytes, {segments} segments of 64 bytes")
# end: count
    assert sum(load["segments64"] for load in loads) == 16 * stride
