"""The graph pass that replaces calls of PyTorch's functions by fused ops, with and without a compiler."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.rewrite import functions
from hipward_kernels.rewrite.steps import OPS, Switches, optimize

if TYPE_CHECKING:
    from collections.abc import Callable


class Calls(nn.Module):
    """A model that is one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


class PreNorm(nn.Module):
    """A residual addition before a norm, whose sum is used again."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return self.norm(total), total


class WrittenNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Rotary(nn.Module):
    """RoPE as Hugging Face's models write it."""

    cos: Tensor
    sin: Tensor

    def __init__(self, *, heads_second: bool = True, halves_differ: bool = False) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(7.0), 1e4 ** (-torch.arange(8) / 8))
        doubled = torch.cat((angles, angles + 1 if halves_differ else angles), -1)
        doubled = doubled if heads_second else doubled[:, None]
        self.register_buffer("cos", doubled.cos())
        self.register_buffer("sin", doubled.sin())

    def forward(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * self.cos + turned * self.sin


X, Y = torch.randn(6, 32), torch.randn(6, 32)
LABELS = torch.tensor([1, 5, -100, 31, 0, 2])


def loss(reduction: str) -> Callable[..., Tensor]:
    return lambda x: F.cross_entropy(x, LABELS, reduction=reduction)


FOUND: dict[str, tuple[nn.Module, list[Tensor], str]] = {
    "F.softmax": (Calls(lambda x: F.softmax(x, dim=-1)), [X], "softmax"),
    "softmax of dimension 1": (Calls(lambda x: torch.softmax(x, 1)), [X], "softmax"),
    "method softmax": (Calls(lambda x: x.softmax(-1)), [X], "softmax"),
    "nn.Softmax": (nn.Sequential(nn.Softmax(-1)), [X], "softmax"),
    "nn.LayerNorm": (nn.Sequential(nn.LayerNorm(32)), [X], "LayerNorm"),
    "nn.LayerNorm without bias": (nn.LayerNorm(32, bias=False), [X], "LayerNorm"),
    "F.layer_norm": (Calls(lambda x: F.layer_norm(x, (32,))), [X], "LayerNorm"),
    "F.rms_norm": (Calls(lambda x: 1 + F.rms_norm(x, (32,))), [X], "RMSNorm"),
    "GELU times": (Calls(lambda x, y: y * F.gelu(x, approximate="tanh")), [X, Y], "GELU×mul"),
    "SiLU times": (Calls(lambda x, y: 2 + F.silu(x) * y), [X, Y], "SiLU×mul"),
    "add and nn.RMSNorm": (PreNorm(nn.RMSNorm(32)), [X, Y], "add+RMSNorm"),
    "add and a norm of its own": (PreNorm(WrittenNorm(32)), [X, Y], "add+RMSNorm"),
    "mean loss": (Calls(loss("mean")), [X], "cross-entropy"),
    "sum of losses": (Calls(loss("sum")), [X], "cross-entropy"),
    "nn.CrossEntropyLoss": (nn.CrossEntropyLoss(reduction="none"), [X, LABELS], "cross-entropy"),
    "RoPE, heads second": (Rotary(), [torch.randn(2, 3, 7, 16)], "RoPE"),
    "RoPE, heads third": (Rotary(heads_second=False), [torch.randn(2, 7, 3, 16)], "RoPE"),
}

LEFT: dict[str, tuple[nn.Module, list[Tensor]]] = {
    "softmax of another dimension": (Calls(lambda x: F.softmax(x, 0)), [X]),
    "softmax in another dtype": (Calls(lambda x: torch.softmax(x, -1, dtype=torch.float64)), [X]),
    "softmax in float64": (Calls(lambda x: F.softmax(x, -1)), [X.double()]),
    "LayerNorm of two dimensions": (nn.LayerNorm((6, 32)), [X]),
    "exact GELU": (Calls(lambda x, y: F.gelu(x) * y), [X, Y]),
    "a product that broadcasts": (Calls(lambda x, y: F.silu(x) * y[:1]), [X, Y]),
    "a smoothed loss": (Calls(lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1)), [X]),
    "a loss of probabilities": (Calls(lambda x, y: F.cross_entropy(x, y.softmax(0))), [X, Y]),
    "RoPE with different halves": (Rotary(halves_differ=True), [torch.randn(2, 3, 7, 16)]),
}


@pytest.mark.parametrize("mode", [None, "default"])
@pytest.mark.parametrize("name", FOUND)
def test_call_of_a_function_becomes_a_fused_op(name: str, mode: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "SMALLEST_COMPILED", 0)
    model, inputs, title = FOUND[name]
    if mode is not None and not name.startswith(("add", "RoPE", "mean", "nn.LayerNorm")):
        pytest.skip("one function of each kind is compiled")
    torch._dynamo.reset()
    expected = copy.deepcopy(model)(*inputs)
    done = optimize(copy.deepcopy(model), inputs, Switches((OPS,), mode))
    assert [changed.partition(" of ")[0] for changed in done.found[OPS.name].changed][-1:] == [title]
    torch.testing.assert_close(done.call(*inputs), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_other_arguments_stay_with_pytorch(name: str) -> None:
    torch._dynamo.reset()
    model, inputs = LEFT[name]
    done = optimize(copy.deepcopy(model), inputs, Switches((OPS,)))
    assert done.found[OPS.name].changed == []
    assert done.reason(OPS) == OPS.nothing


FUSED: dict[str, tuple[nn.Module, list[Tensor]]] = {
    "LayerNorm before GELU": (nn.Sequential(nn.LayerNorm(32), nn.GELU()), [X]),
    "softmax after clamp": (Calls(lambda x: F.softmax(x.clamp(0, 1), -1)), [X]),
    "softmax of a view, then a product": (Calls(lambda x: F.softmax(x.view(3, -1), -1).view(6, -1) * 2), [X]),
    "softmax after a division": (Calls(lambda x: F.softmax(x / 2, -1)), [X]),
    "RMSNorm of a sum before a product": (Calls(lambda x, y: F.rms_norm(x + y, (32,)) * y), [X, Y]),
    "SiLU times, then a sum": (Calls(lambda x, y: F.silu(x) * y + x), [X, Y]),
}


@pytest.mark.parametrize("name", FUSED)
def test_calls_beside_element_wise_operations_are_left_to_the_compiler(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "SMALLEST_COMPILED", 0)
    torch._dynamo.reset()
    model, inputs = FUSED[name]
    assert optimize(copy.deepcopy(model), inputs, Switches((OPS,))).found[OPS.name].changed
    torch._dynamo.reset()
    done = optimize(copy.deepcopy(model), inputs, Switches((OPS,), "default"))
    assert done.found[OPS.name].changed == []
    assert "the operation before or after are left to it (1)" in str(done.reason(OPS))


def test_call_between_matrix_products_is_not_left_to_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "SMALLEST_COMPILED", 0)
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 8))
    done = optimize(model, [X], Switches((OPS,), "default"))
    assert [changed.partition(" of ")[0] for changed in done.found[OPS.name].changed] == ["LayerNorm"]


def test_small_calls_are_left_to_the_compiler() -> None:
    torch._dynamo.reset()
    done = optimize(nn.Sequential(nn.Softmax(-1)), [X], Switches((OPS,), "default"))
    assert done.found[OPS.name].changed == []
    assert "calls with tensors below 32 MiB are left to the compiler (1)" in str(done.reason(OPS))
