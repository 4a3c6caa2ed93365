"""Kernels of the kinds that Triton's tutorials teach, executed as machine code, against float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import tutorial_kernels as kernels
from torch import Tensor

from hipward_kernels.emulate import launch

ARCHS = ("gfx90a", "gfx942", "gfx950")

pytestmark = pytest.mark.parametrize("arch", ARCHS)


def run(arch: str, kernel: Any, grid: tuple[int, ...], *arguments: Any, warps: int = 1, **constants: Any) -> None:
    report = launch(arch, kernel, grid, arguments, constants, warps)
    assert not report.findings, report.findings


def numbers(*shape: int, dtype: torch.dtype = torch.float16, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_close(result: Tensor, expected: Tensor | None, tolerance: float) -> None:
    assert expected is not None
    torch.testing.assert_close(result.double(), expected, rtol=tolerance, atol=tolerance)


def test_softmax(arch: str) -> None:
    x, y = numbers(7, 300, dtype=torch.float32), torch.zeros(7, 300)
    run(arch, kernels.softmax_kernel, (3,), x, y, 300, 7, 300, BLOCK=512, warps=2)
    assert_close(y, x.double().softmax(1), 1e-6)


@pytest.mark.parametrize(
    ("dtype", "layout", "block"),
    [
        (torch.float16, "nn", (32, 32, 32)),
        (torch.bfloat16, "nt", (64, 32, 64)),
        (torch.float16, "tn", (16, 64, 32)),
        (torch.float32, "nn", (32, 32, 16)),
    ],
)
def test_matmul(arch: str, dtype: torch.dtype, layout: str, block: tuple[int, int, int]) -> None:
    m, n, k = 70, 50, 100
    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype, seed=1)
    a = a.T.contiguous().T if layout[0] == "t" else a
    b = b.T.contiguous().T if layout[1] == "t" else b
    c = torch.zeros(m, n, dtype=dtype)
    grid = (-(-m // block[0]) * -(-n // block[1]),)
    strides = (*a.stride(), *b.stride(), *c.stride())
    constants = dict(zip("MNK", block, strict=True))
    run(arch, kernels.matmul_kernel, grid, a, b, c, m, n, k, *strides, warps=4, **constants, GROUP=2)
    expected = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    tolerance = {torch.float16: 1e-2, torch.bfloat16: 8e-2, torch.float32: 1e-4}[dtype]
    # There, Triton multiplies float32 with 10 bits of the fraction by default.
    assert_close(c, expected, 6e-2 if arch == "gfx942" and dtype is torch.float32 else tolerance)


def test_layer_norm(arch: str) -> None:
    rows, columns, groups = 6, 150, 4
    x, dy = numbers(rows, columns), 0.1 * numbers(rows, columns, seed=1)
    weight, bias = numbers(columns, seed=2), numbers(columns, seed=3)
    y, mean, scale = torch.zeros_like(x), torch.zeros(rows), torch.zeros(rows)
    run(arch, kernels.layer_norm_kernel, (rows,), x, y, weight, bias, mean, scale, columns, columns, 1e-5, BLOCK=128)
    inputs = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    expected = torch.nn.functional.layer_norm(inputs[0], (columns,), inputs[1], inputs[2], 1e-5)
    assert_close(y, expected.detach(), 1e-2)
    dx = torch.zeros_like(x)
    dweights, dbiases = torch.zeros(groups, columns), torch.zeros(groups, columns)
    lock = torch.zeros(2 * groups, dtype=torch.int32)
    arguments = (dy, x, weight, mean, scale, dx, dweights, dbiases, lock, columns, columns)
    run(arch, kernels.layer_norm_backward_kernel, (rows,), *arguments, GROUP=groups, BLOCK=256)
    torch.autograd.backward(expected, dy.double())
    assert_close(dx, inputs[0].grad, 1e-2)
    for parts, wanted in ((dweights, inputs[1].grad), (dbiases, inputs[2].grad)):
        sums = torch.zeros(columns)
        run(arch, kernels.column_sums_kernel, (3,), parts, sums, groups, columns, M=32, N=64)
        assert_close(sums, wanted, 1e-2)


def reference(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
    scores = q.double() @ k.double().mT * scale
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores[0], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1) @ v.double()


@pytest.mark.parametrize(("causal", "dtype"), [(False, torch.float16), (True, torch.bfloat16)])
def test_fused_attention(arch: str, causal: bool, dtype: torch.dtype) -> None:
    heads, length, width, scale = 2, 50, 32, 0.3
    q, k, v = (numbers(heads, length, width, dtype=dtype, seed=seed) for seed in range(3))
    out, log = torch.zeros_like(q), torch.zeros(heads, length)
    constants = {"CAUSAL": causal, "M": 32, "N": 16, "WIDTH": width}
    run(arch, kernels.attention_kernel, (2, heads), q, k, v, out, log, scale, length, warps=2, **constants)
    assert_close(out, reference(q, k, v, scale, causal), 1e-2 if dtype is torch.float16 else 4e-2)


def test_fused_attention_backward(arch: str) -> None:
    heads, length, width, scale = 1, 64, 32, 0.3
    q, k, v, dout = (numbers(heads, length, width, seed=seed) for seed in range(4))
    out, log = torch.zeros_like(q), torch.zeros(heads, length)
    constants = {"CAUSAL": True, "M": 32, "N": 32, "WIDTH": width}
    run(arch, kernels.attention_kernel, (2, heads), q, k, v, out, log, scale, length, warps=2, **constants)
    delta = (out.float() * dout.float()).sum(-1)
    gradients = [torch.zeros_like(q) for _ in range(3)]
    arguments = (q, k, v, dout, log, delta, *gradients, scale, length)
    run(arch, kernels.attention_backward_kernel, (2, heads), *arguments, warps=2, M=32, WIDTH=width)
    inputs = [tensor.double().requires_grad_() for tensor in (q, k, v)]
    torch.autograd.backward(reference(inputs[0], inputs[1], inputs[2], scale, causal=True), dout.double())
    for gradient, tensor in zip(gradients, inputs, strict=True):
        assert_close(gradient, tensor.grad, 3e-2)


def test_grouped_products(arch: str) -> None:
    sizes = [(64, 32, 64), (32, 64, 96)]
    pairs = [(numbers(m, k), numbers(k, n, seed=1), torch.zeros(m, n, dtype=torch.float16)) for m, n, k in sizes]
    # Both launches have these buffers at the same addresses.
    table = torch.zeros(6, dtype=torch.int64)
    buffers = [*pairs[0], *pairs[1], table]
    run(arch, kernels.addresses_kernel, (1,), *buffers)
    strides = torch.tensor([[tensor.stride(0) for tensor in pair] for pair in pairs], dtype=torch.int32)
    arguments = (*buffers, torch.tensor(sizes, dtype=torch.int32), strides, 2)
    run(arch, kernels.grouped_kernel, (3,), *arguments, warps=4, PROGRAMS=3, M=32, N=32, K=32)
    for a, b, c in pairs:
        assert_close(c, a.double() @ b.double(), 2e-2)
