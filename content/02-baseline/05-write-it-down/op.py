# test: run
"""The baseline of one op: its time, its bandwidth, and its share of a copy on the same device."""

import torch
from hipward_kernels.bench.perftest import perftest
from torch.nn import functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
rows, columns = 2048, 4096
x = torch.randn(rows, columns, device=device)
weight = torch.ones(columns, device=device)
moved = (2 * x.numel() + weight.numel()) * x.element_size()


# anchor: perftest
def eager(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def fused(x: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (columns,), weight, 1e-6)


reference, before = perftest(eager, x, bytes_moved=moved, samples=20)
result, after = perftest(fused, x, bytes_moved=moved, samples=20)
torch.testing.assert_close(result, reference)
print(f"eager {before}\nfused {after}")
# end: perftest
