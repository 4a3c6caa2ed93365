"""Numerics of the Triton kernels on a CPU. Not collected by name: `test_triton.py` runs it with TRITON_INTERPRET=1.

Float32 only: the interpreter computes bfloat16 wrongly, and has no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor

from hipward_kernels.ops import rmsnorm, silu_mul
from hipward_kernels.ops.rmsnorm import OP as RMSNORM
from hipward_kernels.ops.rmsnorm.triton import BACKWARD_ROW_LIMIT, FORWARD_ROW_LIMIT
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.registry import disabled

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [
    (1, 1),
    (5, 1),
    (3, 31),
    (2, 3, 256),
    (9, 4097),
    (2, BACKWARD_ROW_LIMIT + 3),
    (2, FORWARD_ROW_LIMIT + 5),
    (0, 16),
    (3, 0),
]


def value_and_gradients(op: Callable[..., Tensor], *arguments: Tensor) -> list[Tensor]:
    """The result of `op`, then the gradient of a fixed weighting of it for each argument."""
    leaves = [argument.detach().clone().requires_grad_() for argument in arguments]
    result = op(*leaves)
    generator = torch.Generator().manual_seed(1)
    (result * torch.randn(result.shape, generator=generator)).sum().backward()  # type: ignore[no-untyped-call]
    gradients = [leaf.grad for leaf in leaves]
    assert all(gradient is not None for gradient in gradients), "every argument receives a gradient"
    return [result.detach(), *(gradient for gradient in gradients if gradient is not None)]


def agree(op: Callable[..., Tensor], *arguments: Tensor) -> None:
    with disabled("triton"):
        expected = value_and_gradients(op, *arguments)
    for got, wanted in zip(value_and_gradients(op, *arguments), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)


def test_it_is_triton_that_runs_here() -> None:
    x = torch.ones(1)
    assert RMSNORM.refusals(x) == {"triton": None, "eager": None}
    assert SILU_MUL.refusals(x) == {"triton": None, "eager": None}


@pytest.mark.parametrize("shape", SHAPES)
def test_rmsnorm(shape: tuple[int, ...]) -> None:
    x, weight = torch.randn(shape), torch.randn(shape[-1])
    agree(lambda x, w: rmsnorm(x, w, 1e-5), x, weight)
    agree(lambda x: rmsnorm(x, None, 1e-5), x)


@pytest.mark.parametrize("shape", SHAPES)
def test_silu_mul(shape: tuple[int, ...]) -> None:
    agree(silu_mul, 4 * torch.randn(shape), torch.randn(shape))


def test_rows_that_are_not_contiguous() -> None:
    wide = torch.randn(4, 6, 64)
    gate, up = wide.chunk(2, dim=-1)
    agree(silu_mul, gate, up)
    torch.testing.assert_close(silu_mul(gate, up), torch.nn.functional.silu(gate) * up)
    for view in (gate, wide.transpose(0, 1), wide.transpose(1, 2), wide[:, :1].expand(4, 6, 64)):
        weight = torch.randn(view.shape[-1])
        with disabled("triton"):
            expected = rmsnorm(view, weight)
        torch.testing.assert_close(rmsnorm(view, weight), expected)


def test_more_rows_than_backward_programs() -> None:
    agree(rmsnorm, torch.randn(50, 8), torch.randn(8))


def test_saturated_gates_stay_finite() -> None:
    gate = torch.tensor([[-1e4, -100.0, 0.0, 100.0, 1e4]])
    agree(silu_mul, gate, torch.ones_like(gate))


def test_an_integer_epsilon() -> None:
    agree(lambda x: rmsnorm(x, None, 1), torch.randn(2, 8))


def test_a_second_derivative_is_an_error_and_not_wrong() -> None:
    x = torch.randn(2, 8, requires_grad=True)
    for y in (rmsnorm(x), silu_mul(x, x)):
        with pytest.raises(RuntimeError, match="has no derivative of its own"):
            torch.autograd.grad(y.sum(), x, create_graph=True)
