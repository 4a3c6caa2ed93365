# test: run
import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 64), nn.RMSNorm(64), nn.Linear(64, 8))
example = torch.randn(4, 32)

# anchor: optimize
from hipward_kernels.rewrite.steps import optimize

optimized = optimize(model, [example])  # the steps that the environment enables
for line in optimized.includes():
    print(line)
result = optimized.call(example)
# end: optimize
assert result.shape == (4, 8)

# anchor: ops
from hipward_kernels.ops import add_rmsnorm, rmsnorm, silu_mul

x, residual = torch.randn(2, 5, 64)
weight = torch.ones(64)
normalized = rmsnorm(x, weight, 1e-6)
normalized, residual = add_rmsnorm(x, residual, weight, 1e-6)
activated = silu_mul(x, residual)
# end: ops
assert normalized.shape == residual.shape == activated.shape == x.shape

import sys

from hipward_kernels import overlay

sys.path.append(overlay.__path__[0])  # has stubs.py

# anchor: stubs
from stubs import OPTIMIZED, attention  # your copy

print("fused ops" if OPTIMIZED else "PyTorch ops")
query = torch.randn(1, 4, 8, 16)  # [batch, sequence, heads, features]
keys, values = torch.randn(2, 1, 4, 2, 16)  # two heads of keys and values for eight of queries
mixed = attention(query, keys, values, causal=True)
# end: stubs
assert mixed.shape == query.shape
