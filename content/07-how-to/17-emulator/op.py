# test: run
"""Runs an op of the package, forward and backward, on the machine code of an AMD GPU."""

import torch
from hipward_kernels.emulate import triton_on
from hipward_kernels.ops.rmsnorm import rmsnorm

# anchor: op
torch.manual_seed(0)
x = torch.randn(3, 31, requires_grad=True)
weight = torch.randn(31, requires_grad=True)

with triton_on("gfx942") as reports:
    y = rmsnorm(x, weight, 1e-6)
    y.sum().backward()

expected = torch.nn.functional.rms_norm(x, (31,), weight, 1e-6)
gradients = torch.autograd.grad(expected.sum(), (x, weight))
torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
torch.testing.assert_close((x.grad, weight.grad), gradients, rtol=1e-5, atol=1e-5)
assert reports, "no Triton kernel ran"
# end: op
# anchor: reports
for report in reports:
    instructions = {name: count for name, count in report.counts["instructions"].items() if count}
    print(f"{len(report.findings)} findings, {instructions}")
# end: reports
