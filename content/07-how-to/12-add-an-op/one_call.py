# test: run
"""Checks and times one call of an op, and shows what the check reports for a wrong one."""

import torch
from hipward_kernels.bench.perftest import check_allclose, perftest
from hipward_kernels.ops.silu_mul import silu_mul

torch.manual_seed(0)
# anchor: check
gate, up = torch.randn(2, 512, 1024, dtype=torch.bfloat16)
expected = torch.nn.functional.silu(gate.double()) * up.double()
traffic = gate.nbytes + up.nbytes + gate.nbytes  # two inputs, one output

got, took = perftest(silu_mul, gate, up, bytes_moved=traffic, samples=20)
check_allclose(got, expected, rtol=2**-7, atol=1e-3)
# end: check
assert took.milliseconds > 0

# anchor: wrong
got[:, -1] = 0  # a kernel that leaves the last column out
check_allclose(got, expected, rtol=2**-7, atol=1e-3, share=0.001)  # passes
try:
    check_allclose(got, expected, rtol=2**-7, atol=1e-3)
except AssertionError as error:
    print(error)
# end: wrong
