"""Selection of the implementation of an op, and the reasons for skipping others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from hipward_kernels.dispatch import registry
from hipward_kernels.dispatch.registry import disabled, disabled_by
from hipward_kernels.ops.rmsnorm import OP

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="says what a host without a GPU says")


def test_cpu_uses_eager_and_reports_why() -> None:
    x = torch.ones(1)
    assert OP.function(x).__module__ == "hipward_kernels.ops.rmsnorm.eager"
    assert OP.refusals(x) == {
        "hip": "HIP kernels need a GPU; this job runs on the CPU",
        "triton": "Triton needs a GPU; this job runs on the CPU",
        "eager": None,
    }


def test_each_tier_can_be_disabled() -> None:
    x = torch.ones(1)
    with disabled("triton"):
        assert OP.refusals(x)["triton"] == "triton is disabled"
        assert OP.function(x).__module__.endswith(".eager")
    with disabled("triton", "eager"), pytest.raises(RuntimeError, match="every implementation of rmsnorm is disabled"):
        OP.function(x)
    assert OP.refusals(x)["eager"] is None


@pytest.mark.parametrize(
    ("environment", "off"),
    [
        ({}, set()),
        ({"USE_OPTIMIZED_OPS": "1"}, set()),
        ({"USE_OPTIMIZED_OPS": "0"}, set()),
        ({"HIPWARD_DISABLE": "hip,triton"}, {"hip", "triton"}),
        ({"HIPWARD_DISABLE": "triton"}, {"triton"}),
        ({"HIPWARD_DISABLE": " triton, sdpa"}, {"triton", "sdpa"}),
    ],
)
def test_environment_disables_tiers(environment: dict[str, str], off: set[str]) -> None:
    assert disabled_by(environment) == off


def test_unknown_tier_in_the_environment_is_an_error() -> None:
    with pytest.raises(ValueError, match="names tritn; these can be disabled: aiter, hip, lt, native, sdpa, triton"):
        disabled_by({"HIPWARD_DISABLE": "tritn"})


class _Product(torch.autograd.Function):
    """A function of two tensors, as the Triton tiers are."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return x * y.sin()

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return slope * y.sin(), slope * x * y.cos()


def test_compiled_op_may_get_a_tensor_twice() -> None:
    def call(x: Tensor) -> Tensor:
        result: Tensor = _Product.apply(*registry.distinct(x, x))
        return result

    x = torch.randn(5, requires_grad=True)
    torch._dynamo.reset()
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    (got,), (wanted,) = (torch.autograd.grad(run(x).sum(), x) for run in (compiled, call))
    torch.testing.assert_close(got, wanted)
