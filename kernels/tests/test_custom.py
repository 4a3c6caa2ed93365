"""The ops as operators of PyTorch: results, gradients, shapes, and compiled code that keeps HIP kernels."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
import torch
from op_cases import OPS
from torch import Tensor

from hipward_kernels.dispatch import registry
from hipward_kernels.dispatch.tuning import Choice, forced
from hipward_kernels.emulate import hip_on
from hipward_kernels.ops import rmsnorm, silu_mul, softmax
from hipward_kernels.ops.custom import FORMS
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable

COS, SIN = rope_table(3, 8)


def of(*shape: int) -> Tensor:
    return torch.randn(shape, requires_grad=True)


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "rmsnorm": lambda: (of(4, 16), of(16), 1e-5),
    "add_rmsnorm": lambda: (of(4, 16), of(4, 16), of(16), 1e-5),
    "layernorm": lambda: (of(4, 16), of(16), of(16), 1e-5),
    "softmax": lambda: (of(4, 16),),
    "silu_mul": lambda: (of(4, 16), of(4, 16)),
    "gelu_mul": lambda: (of(4, 16), of(4, 16)),
    "swiglu": lambda: (of(4, 16),),
    "rope": lambda: (of(2, 3, 2, 8), COS, SIN, "half"),
    "qkv_rope": lambda: (of(1, 3, 32), COS, SIN, 2, 1, "interleaved"),
    "cross_entropy": lambda: (of(4, 16), torch.tensor([1, -100, 3, 15]), -100),
}


def test_every_op_is_an_operator() -> None:
    assert set(FORMS) == set(ARGUMENTS) == set(OPS)


@pytest.mark.parametrize("name", FORMS)
def test_operator_has_the_results_and_gradients_of_the_op(name: str) -> None:
    torch.manual_seed(0)
    arguments = ARGUMENTS[name]()
    operator = getattr(torch.ops.hipward, name)
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
    found = []
    for call in (operator, OPS[name].definition):
        results = call(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        found.append([*results, *torch.autograd.grad([x.square().sum() for x in results], leaves)])
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted)
    # Shapes of compiled graphs, and results that share no memory with arguments.
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(operator.default, arguments, test_utils=checks)


@pytest.mark.parametrize("name", ["layernorm", "cross_entropy", "swiglu", "rope", "qkv_rope"])
def test_backward_is_exact_and_runs_no_forward(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    arguments = [
        x.detach().double().requires_grad_() if getattr(x, "requires_grad", False) else x for x in ARGUMENTS[name]()
    ]
    operator = getattr(torch.ops.hipward, name)
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]

    def call(*changed: Tensor) -> Any:
        values = iter(changed)
        return operator(*(next(values) if isinstance(x, Tensor) and x.requires_grad else x for x in arguments))

    assert torch.autograd.gradcheck(call, leaves)
    results = call(*leaves)
    called: list[str] = []
    run = registry.Op.__call__

    def recorded(op: registry.Op, *rest: Any) -> Any:
        called.append(op.name)
        return run(op, *rest)

    monkeypatch.setattr(registry.Op, "__call__", recorded)
    torch.autograd.grad(sum(x.square().sum() for x in (results if isinstance(results, tuple) else (results,))), leaves)
    assert called == [f"{name}_backward"]


@pytest.mark.parametrize("name", ["rope", "qkv_rope"])
def test_trained_tables_have_gradients(name: str) -> None:
    arguments = list(ARGUMENTS[name]())
    arguments[1], arguments[2] = (table.clone().requires_grad_() for table in (COS, SIN))
    found = []
    for call in (getattr(torch.ops.hipward, name), OPS[name].definition):
        results = call(*arguments)
        total = sum(
            x.square().sum() * weight
            for weight, x in enumerate(results if isinstance(results, tuple) else (results,), 1)
        )
        found.append(torch.autograd.grad(total, arguments[:3]))
    torch.testing.assert_close(*found)


def test_gradient_that_is_not_wanted_is_not_computed() -> None:
    x, weight = of(4, 16).detach(), of(16)
    y = torch.ops.hipward.rmsnorm(x, weight, 1e-5)
    (gradient,) = torch.autograd.grad(y.sum(), weight)
    (wanted,) = torch.autograd.grad(rmsnorm(x, weight, 1e-5).sum(), weight)
    torch.testing.assert_close(gradient, wanted)


def test_compiled_code_keeps_hip_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the machine code of gfx942: forward and backward of a compiled function launch the HIP kernels."""
    monkeypatch.setattr(registry, "_stays_whole", lambda *_: True)
    torch._dynamo.reset()

    def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
        return softmax(silu_mul(rmsnorm(x, weight), up))

    leaves = [of(2, 64), of(64), of(2, 64)]
    with hip_on("gfx942") as reports:
        compiled = torch.compile(block, backend="aot_eager", fullgraph=True)(*leaves)
        forward = len(reports)
        gradients = torch.autograd.grad(compiled.square().sum(), leaves)
    assert forward == 3
    # RMSNorm has a second kernel, which adds the parts of the gradient of its weight.
    assert len(reports) - forward == 4
    expected = block(*leaves)
    torch.testing.assert_close(compiled, expected)
    wanted = torch.autograd.grad(expected.square().sum(), leaves)
    for got, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(got, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("tier", "stays"), [("hip", True), ("triton", False)])
def test_tuned_table_decides_what_stays_whole(tier: str, stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hip = importlib.import_module("hipward_kernels.ops.rmsnorm.hip")
    op = OPS["rmsnorm"]
    functions = {**op._functions, "hip": hip.rmsnorm, "triton": hip.rmsnorm}
    monkeypatch.setattr(op, "_functions", functions)
    monkeypatch.setattr(registry, "get_gfx", lambda _: "gfx942")
    assert not registry._stays_whole("rmsnorm", 0, "torch.bfloat16", 4096), "there is no tuned row"
    with forced(Choice("gfx942", "rmsnorm", "bfloat16", 1, 4096, tier, "", "a test")):
        assert registry._stays_whole("rmsnorm", 0, "torch.bfloat16", 4096) is stays
        assert not registry._stays_whole("rmsnorm", -1, "torch.bfloat16", 4096), "on a CPU"
        assert not registry._stays_whole("rmsnorm", 0, "torch.float64", 4096)
    monkeypatch.delitem(functions, "triton")
    assert registry._stays_whole("rmsnorm", 0, "torch.bfloat16", 4096), "there is no Triton"
