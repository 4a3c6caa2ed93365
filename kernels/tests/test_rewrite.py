"""Modules of third-party models that are replaced, and those that are not."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.ops.modules import GatedMLP, RMSNorm, SiLUMul
from hipward_kernels.rewrite import rewrite
from hipward_kernels.rewrite.candidates import fused_ops


class LlamaNorm(nn.Module):
    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.variance_epsilon = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon) * self.weight).to(
            x.dtype
        )


class GemmaNorm(LlamaNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon) * (1 + self.weight)


class BareNorm(nn.Module):
    """The number is in `forward`, and the parameter is missing."""

    def forward(self, x: Tensor) -> Tensor:
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)


class ChannelNorm(nn.Module):
    """Normalizes another dimension than the last: not what the fused op computes."""

    def forward(self, x: Tensor) -> Tensor:
        return x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)


class MLP(nn.Module):
    """SwiGLU with names of its own, declared in an order of its own."""

    def __init__(self, size: int, hidden: int, *, bias: bool = False) -> None:
        super().__init__()
        self.w2 = nn.Linear(hidden, size, bias=bias)
        self.w3 = nn.Linear(size, hidden, bias=bias)
        self.w1 = nn.Linear(size, hidden, bias=bias)

    def activation(self, x: Tensor) -> Tensor:
        return F.silu(x)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.w2(self.activation(self.w1(x)) * self.w3(x))
        return out


class GeluMLP(MLP):
    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        gate, up = x.chunk(2, -1)
        return F.silu(gate) * up


class Pair(nn.Module):
    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return F.silu(gate) * up


class Block(nn.Module):
    """A model of two layers that share one norm."""

    def __init__(self, norm: nn.Module, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.layers = nn.ModuleList([first, second])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(self.norm(x))
        return x


@pytest.mark.parametrize(
    ("module", "replacement"),
    [
        (nn.RMSNorm(16, eps=1e-5), RMSNorm),
        (nn.RMSNorm(16), RMSNorm),
        (nn.RMSNorm(16, elementwise_affine=False), RMSNorm),
        (LlamaNorm(16), RMSNorm),
        (GemmaNorm(16), RMSNorm),
        (BareNorm(), RMSNorm),
        (Halves(), SiLUMul),
        (MLP(16, 16), GatedMLP),
        (MLP(16, 24, bias=True), GatedMLP),
    ],
)
def test_model_that_is_one_op_is_replaced(module: nn.Module, replacement: type[nn.Module]) -> None:
    x = torch.randn(3, 5, 16)
    expected = module(x)
    fused, replaced = rewrite(module, [x], fused_ops)
    assert replaced == [""]
    assert type(fused) is replacement
    torch.testing.assert_close(fused(x), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("eps", [None, 1e-5])
def test_16_bit_norm_is_recognized(dtype: torch.dtype, eps: float | None) -> None:
    norm, _ = rewrite(nn.RMSNorm(64, eps=eps).to(dtype), [torch.randn(4, 64).to(dtype)], fused_ops)
    assert isinstance(norm, RMSNorm)
    assert norm.eps == eps


def test_model_with_two_arguments_is_replaced() -> None:
    fused, replaced = rewrite(Pair(), [torch.randn(2, 8), torch.randn(2, 8)], fused_ops)
    assert (type(fused), replaced) == (SiLUMul, [""])


@pytest.mark.parametrize(
    "module",
    [nn.LayerNorm(16), nn.Linear(16, 16), nn.SiLU(), nn.Identity(), GeluMLP(16, 24), ChannelNorm(), nn.Softmax(-1)],
)
def test_similar_code_is_not_replaced(module: nn.Module) -> None:
    same, replaced = rewrite(module, [torch.randn(3, 5, 16)], fused_ops)
    assert same is module
    assert replaced == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_matching_parts_of_a_model_are_replaced(dtype: torch.dtype) -> None:
    model = Block(LlamaNorm(16), MLP(16, 24), GeluMLP(16, 24)).to(dtype)
    x = torch.randn(2, 16).to(dtype)
    expected = model(x)
    fused, replaced = rewrite(model, [x], fused_ops)
    assert replaced == ["norm", "layers.0"]
    assert fused is model
    assert isinstance(model.layers[0], GatedMLP)
    assert isinstance(model.layers[1], GeluMLP)
    # Rounding is that of the largest values, also in elements that happen to be near zero.
    rounding = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(
        fused(x), expected, rtol=rounding, atol=max(rounding * float(expected.detach().abs().max()), 1e-5)
    )


def test_module_with_hooks_is_not_replaced() -> None:
    model = Block(LlamaNorm(16), MLP(16, 24), MLP(16, 24))
    watched = model.layers[0]
    assert isinstance(watched, MLP)
    calls: list[nn.Module] = []
    watched.w1.register_forward_hook(lambda module, _args, _out: calls.append(module))
    _, replaced = rewrite(model, [torch.randn(2, 16)], fused_ops)
    assert replaced == ["norm", "layers.1"]
    calls.clear()
    model(torch.randn(2, 16))
    assert calls == [watched.w1]


def test_every_parameter_of_a_rewritten_model_has_a_gradient() -> None:
    model, _ = rewrite(Block(LlamaNorm(16), MLP(16, 24), MLP(16, 24)), [torch.randn(2, 16)], fused_ops)
    model(torch.randn(2, 16)).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("norm", [LlamaNorm, GemmaNorm])
def test_weights_preserve_their_names(norm: type[LlamaNorm]) -> None:
    model, other = (Block(norm(16), MLP(16, 24), GeluMLP(16, 24)) for _ in range(2))
    fused, replaced = rewrite(copy.deepcopy(model), [torch.randn(2, 16)], fused_ops)
    assert replaced == ["norm", "layers.0"]
    saved, plain = fused.state_dict(), model.state_dict()
    assert saved.keys() == plain.keys()
    assert all(torch.equal(saved[name], value) for name, value in plain.items())
    fused.load_state_dict(other.state_dict())
    x = torch.randn(2, 16)
    torch.testing.assert_close(fused(x), other(x))


def test_epsilon_of_the_model_is_preserved() -> None:
    norm, _ = rewrite(LlamaNorm(16, eps=3e-4), [torch.randn(2, 16)], fused_ops)
    assert isinstance(norm, RMSNorm)
    assert norm.eps == 3e-4
