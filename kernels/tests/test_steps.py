"""The ladder outside the harness: steps are off by default, and each is alone or based on the one below."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.harness.roofline import work_of
from hipward_kernels.ops.modules import GatedMLP, RMSNorm
from hipward_kernels.rewrite.steps import ATTENTION, GEMM, OPS, PROJECTIONS, STEPS, Switches, optimize


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class MLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp = Norm(32), MLP(32)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mlp(self.norm(x))  # type: ignore[no-any-return]


@pytest.fixture
def block() -> Block:
    torch.manual_seed(0)
    return Block().eval()


def test_all_switches_are_off_by_default(block: Block) -> None:
    done = optimize(block, [torch.randn(4, 32)], Switches.of({}))
    assert done.call is done.model is block
    assert (done.found, done.includes()) == ({}, [])
    assert isinstance(block.norm, Norm)


@pytest.mark.parametrize(
    ("variables", "norm", "mlp", "says"),
    [
        ({"USE_OPTIMIZED_OPS": "1"}, RMSNorm, GatedMLP, ["Fused ops: norm, mlp"]),
        ({"USE_FUSED_PROJECTIONS": "1"}, Norm, MLP, ["Fused projections: mlp.gate + mlp.up"]),
        (
            {"USE_OPTIMIZED_OPS": "1", "USE_FUSED_PROJECTIONS": "1"},
            RMSNorm,
            GatedMLP,
            ["Fused ops: norm, mlp", "Fused projections: mlp.gate_proj + mlp.up_proj"],
        ),
    ],
)
def test_each_step_is_alone_or_based_on_the_one_below(
    block: Block, variables: dict[str, str], norm: type, mlp: type, says: list[str]
) -> None:
    x = torch.randn(4, 32)
    expected = copy.deepcopy(block)(x)
    done = optimize(block, [x], Switches.of(variables))
    torch.testing.assert_close(done.call(x), expected)
    assert isinstance(done.model.get_submodule("norm"), norm)
    assert isinstance(done.model.get_submodule("mlp"), mlp)
    assert done.includes() == says


def test_variant_without_effect_reports_why_and_changes_nothing() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    done = optimize(model, [torch.randn(2, 8)], Switches((OPS, PROJECTIONS, GEMM)))
    assert done.call is model
    assert done.includes() == []
    assert done.reason(OPS) == OPS.nothing
    assert done.reason(PROJECTIONS) == PROJECTIONS.nothing
    assert "aiter is not installed" in str(done.reason(GEMM))


class Formula(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v


class Function(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize(
    ("model", "count"),
    [
        (Formula(), 3),
        (Function(), 3),
        (nn.MultiheadAttention(16, 2, batch_first=True), 3),
        (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1),
    ],
)
def test_attention_routing_may_change_each_form_of_attention(
    model: nn.Module, count: int, *, is_training: bool
) -> None:
    work = work_of(model.train(is_training), [torch.randn(2, 8, 16)] * count)
    assert ATTENTION.may_change(work.operators)


def test_attention_routing_needs_no_capture_of_a_model_without_softmax() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 8), nn.Sigmoid())
    operators = work_of(model, [torch.randn(1, 3, 8, 8)]).operators
    assert not ATTENTION.may_change(operators)
    assert all(step.may_change(operators) for step in STEPS if step is not ATTENTION)


def test_compile_is_the_last_step_and_preserves_the_parameters(block: Block) -> None:
    done = optimize(block, [torch.randn(4, 32)], Switches.of({"TORCH_COMPILE_MODE": "default"}))
    assert done.call is not block
    assert done.model is block
    assert done.found == {}


@pytest.mark.parametrize("switch", [step.switch for step in STEPS])
def test_switches_are_off_when_unset_or_0(switch: str) -> None:
    assert Switches.of({}).steps == Switches.of({switch: "0"}).steps == ()
    assert [step.switch for step in Switches.of({switch: "1"}).steps] == [switch]


def test_invalid_value_of_a_switch_is_an_error() -> None:
    with pytest.raises(ValueError, match="USE_OPTIMIZED_OPS is 'yes'; it must be 0 or 1"):
        Switches.of({"USE_OPTIMIZED_OPS": "yes"})
