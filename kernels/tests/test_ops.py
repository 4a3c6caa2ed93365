"""The ops as a caller sees them on any host: values, shapes, dtypes, gradients, errors, torch.compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

from hipward_kernels.ops import rmsnorm, silu_mul
from hipward_kernels.projections import FusedGatedMLP, FusedGateUp

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
DTYPES = list(TOLERANCE)


def rmsnorm_float64(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    x = x.double()
    return x / (x.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt() * weight.double()


def silu_mul_float64(gate: Tensor, up: Tensor) -> Tensor:
    gate = gate.double()
    return gate / (1 + torch.exp(-gate)) * up.double()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 257), (2, 5, 1024)])
def test_eager_agrees_with_the_formula_in_float64(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    weight = torch.randn(shape[-1]).to(dtype)
    for got, expected in (
        (rmsnorm(x, weight, 1e-5), rmsnorm_float64(x, weight, 1e-5)),
        (silu_mul(x, y), silu_mul_float64(x, y)),
    ):
        assert got.dtype == dtype
        assert got.shape == x.shape
        torch.testing.assert_close(got.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_float64_stays_float64() -> None:
    x = torch.randn(4, 16, dtype=torch.float64)
    torch.testing.assert_close(rmsnorm(x, torch.ones(16)), rmsnorm_float64(x, torch.ones(16), 1e-6), rtol=1e-14, atol=0)


def test_a_16_bit_input_with_a_float32_weight_keeps_the_inputs_dtype() -> None:
    assert rmsnorm(torch.randn(2, 8).bfloat16(), torch.ones(8)).dtype == torch.bfloat16


def test_gradients_are_those_of_finite_differences() -> None:
    x = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    y = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rmsnorm, (x, weight))
    assert torch.autograd.gradcheck(silu_mul, (x, y))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rmsnorm(torch.ones(2, 8), torch.ones(4)), r"weight has shape \[4\].*\[8\]"),
        (lambda: rmsnorm(torch.tensor(1.0)), "scalar"),
        (lambda: rmsnorm(torch.ones(2, 8, dtype=torch.int32)), "floating dtype"),
        (lambda: rmsnorm(torch.ones(2, 8), torch.ones(8, device="meta")), "weight is on meta"),
        (lambda: silu_mul(torch.ones(2, 8), torch.ones(8)), "must be alike"),
        (lambda: silu_mul(torch.ones(2), torch.ones(2).bfloat16()), "must be alike"),
        (lambda: silu_mul(torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool)), "floating dtype"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call: Callable[[], Tensor], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_torch_compile_takes_the_ops_in_one_graph() -> None:
    def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
        return silu_mul(rmsnorm(x, weight), up)

    arguments = (torch.randn(4, 16), torch.randn(16), torch.randn(4, 16))
    compiled = torch.compile(block, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*arguments), block(*arguments))


@pytest.mark.parametrize(("gate_bias", "up_bias"), [(False, False), (True, True), (True, False), (False, True)])
def test_fused_gate_up_equals_two_products(gate_bias: bool, up_bias: bool) -> None:
    gate, up = nn.Linear(12, 20, bias=gate_bias), nn.Linear(12, 20, bias=up_bias)
    down = nn.Linear(20, 12)
    x = torch.randn(2, 3, 12)
    torch.testing.assert_close(FusedGateUp(gate, up)(x), silu_mul(gate(x), up(x)))
    fused = FusedGatedMLP(gate, up, down)
    torch.testing.assert_close(fused(x), down(silu_mul(gate(x), up(x))))
    fused(x).sum().backward()
    assert [name for name, parameter in fused.named_parameters() if parameter.grad is None] == []


def test_projections_of_different_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="must be alike"):
        FusedGateUp(nn.Linear(4, 8), nn.Linear(4, 6))
