"""Numerics of the Triton kernels on a CPU. Not collected by name: `test_triton.py` runs it with TRITON_INTERPRET=1.

Float32 only: the interpreter computes bfloat16 wrongly, and has no clock.
"""

from __future__ import annotations

import pytest
import torch
from op_cases import CASES, LONG_CASES, OPS, Case, assert_agrees

from hipward_kernels.ops import cross_entropy, gelu_mul, layernorm, rmsnorm, silu_mul, softmax


@pytest.mark.parametrize("op", OPS)
def test_triton_is_the_tier_in_use(op: str) -> None:
    assert OPS[op].function(torch.ones(1)).__module__.endswith(".triton")


@pytest.mark.parametrize("case", [*CASES, *LONG_CASES], ids=str)
def test_kernels_match_the_definition(case: Case) -> None:
    assert_agrees(case, "triton", torch.float32, "cpu", 3e-5)


def test_saturated_gates_stay_finite() -> None:
    gate = torch.tensor([[-1e4, -100.0, 0.0, 100.0, 1e4, 1e15, -1e15]], requires_grad=True)
    for op, exact in ((silu_mul, torch.nn.functional.silu), (gelu_mul, torch.nn.functional.gelu)):
        y = op(gate, torch.ones_like(gate))
        torch.testing.assert_close(y, exact(gate))
        (slope,) = torch.autograd.grad(y.sum(), gate)
        torch.testing.assert_close(slope, torch.tensor([[0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.0]]), rtol=0, atol=1e-6)


def test_logits_of_minus_infinity_are_ignored() -> None:
    logits = torch.tensor([[0.0, -torch.inf, 1.0], [-torch.inf, 2.0, -torch.inf]], requires_grad=True)
    labels = torch.tensor([2, 1])
    (gradient,) = torch.autograd.grad(cross_entropy(logits, labels), logits)
    (expected,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, labels), logits)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("columns", [3, 32770])
def test_rows_that_are_not_finite_are_those_of_pytorch(columns: int) -> None:
    x = torch.randn(5, columns)
    x[0, :2], x[1], x[2, 1], x[3, 0] = -torch.inf, -torch.inf, torch.inf, torch.nan
    torch.testing.assert_close(softmax(x), torch.softmax(x, -1), equal_nan=True)


def test_label_out_of_range_gives_nan_in_its_row_only() -> None:
    losses = cross_entropy(torch.zeros(3, 4), torch.tensor([1, 4, -1]), reduction="none")
    assert losses.isnan().tolist() == [False, True, True]


def test_integer_epsilon_is_supported() -> None:
    x = torch.randn(2, 8)
    torch.testing.assert_close(rmsnorm(x, None, 1), torch.nn.functional.rms_norm(x, (8,), eps=1))


def test_second_derivative_is_an_error() -> None:
    x = torch.randn(2, 8, requires_grad=True)
    results = (
        rmsnorm(x),
        layernorm(x),
        softmax(x),
        silu_mul(x, x),
        gelu_mul(x, x),
        cross_entropy(x, torch.tensor([1, 2])),
    )
    for y in results:
        with pytest.raises(RuntimeError, match="has no derivative of its own"):
            torch.autograd.grad(y.sum(), x, create_graph=True)
