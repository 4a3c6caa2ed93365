# test: run
"""Compares the kernel with float64, on a GPU if there is one, otherwise in the interpreter."""

import os

import torch

ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before the kernel's module is imported

from rmsnorm_triton import FusedRMSNorm
from torch.nn import functional as F

device = torch.device("cuda" if ON_GPU else "cpu")


# anchor: shapes
def check(rows: int, columns: int, dtype: torch.dtype, contiguous: bool = True) -> None:
    torch.manual_seed(rows * columns)
    x = torch.randn(rows, columns if contiguous else 2 * columns, device=device, dtype=dtype)
    x = x[:, :columns].detach().requires_grad_()
    weight = torch.rand(columns, device=device, dtype=dtype).requires_grad_()
    dy = torch.randn(rows, columns, device=device, dtype=dtype)

    y = FusedRMSNorm.apply(x, weight, 1e-6)
    got = (y, *torch.autograd.grad(y, (x, weight), dy))

    x64, weight64 = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    y64 = F.rms_norm(x64, (columns,), weight64, 1e-6)
    want = (y64, *torch.autograd.grad(y64, (x64, weight64), dy.double()))

    for name, ours, exact in zip(("y", "dx", "dweight"), got, want, strict=True):
        error = ((ours.double() - exact).norm() / exact.norm()).item()
        assert error < 2 * torch.finfo(dtype).eps, f"{name} of {rows}×{columns}: {error:.1e}"
# end: shapes


# anchor: gradients
def check_that_every_parameter_learns() -> None:
    """A kernel that writes into an empty tensor cuts the graph: nothing before it would learn."""
    first, last = torch.nn.Linear(64, 64, device=device), torch.nn.Linear(64, 8, device=device)
    weight = torch.nn.Parameter(torch.ones(64, device=device))
    hidden = FusedRMSNorm.apply(first(torch.randn(4, 64, device=device)), weight, 1e-6)
    last(hidden).square().mean().backward()
    for parameter in (*first.parameters(), weight, *last.parameters()):
        assert parameter.grad is not None and parameter.grad.any()
# end: gradients


if __name__ == "__main__":
    for rows, columns in ((1, 5), (3, 7), (2, 64), (5, 1000), (17, 4096)):
        check(rows, columns, torch.float32)
    check(4, 96, torch.float32, contiguous=False)
    if ON_GPU:  # the interpreter's bfloat16 arithmetic is unreliable
        for rows, columns in ((1, 5), (33, 1000), (513, 4096), (64, 8192), (9, 32768)):
            check(rows, columns, torch.bfloat16)
            check(rows, columns, torch.float16)
    check_that_every_parameter_learns()
    print(f"y, dx and dweight agree with float64 on {device.type}")
