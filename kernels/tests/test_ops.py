"""The ops on any host: values, shapes, dtypes, gradients, errors, torch.compile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.ops import (
    add_rmsnorm,
    cross_entropy,
    gelu_mul,
    layernorm,
    qkv_rope,
    rmsnorm,
    rope,
    silu_mul,
    softmax,
    swiglu,
)
from hipward_kernels.ops.rope import LAYOUTS, convert_weight, rope_table
from hipward_kernels.projections import FusedGatedMLP, FusedGateUp, FusedQKV, gate_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.ops.cross_entropy import Reduction
    from hipward_kernels.ops.rope import Layout

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
DTYPES = list(TOLERANCE)


def rmsnorm_float64(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    x = x.double()
    return x / (x.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt() * weight.double()


def silu_mul_float64(gate: Tensor, up: Tensor) -> Tensor:
    gate = gate.double()
    return gate / (1 + torch.exp(-gate)) * up.double()


def gelu_mul_float64(gate: Tensor, up: Tensor) -> Tensor:
    gate = gate.double()
    inner = math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)
    return gate / 2 * (1 + torch.tanh(inner)) * up.double()


def layernorm_float64(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    x = x.double()
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    variance = (x - mean).pow(2).sum(-1, keepdim=True) / x.shape[-1]
    return (x - mean) / (variance + eps).sqrt() * weight.double() + bias.double()


def softmax_float64(x: Tensor) -> Tensor:
    exponentials = torch.exp(x.double())
    return exponentials / exponentials.sum(-1, keepdim=True)


def rope_as_complex_numbers(x: Tensor, angles: Tensor, layout: str) -> Tensor:
    """A pair of features is a complex number, and turning it is a product."""
    pairs = angles.shape[-1]
    turning, rest = x[..., : 2 * pairs].double(), x[..., 2 * pairs :].double()
    by_pair = torch.unflatten(turning, -1, (2, pairs) if layout == "half" else (pairs, 2))
    by_pair = by_pair.transpose(-1, -2) if layout == "half" else by_pair
    turned = torch.view_as_complex(by_pair.contiguous()) * torch.polar(torch.ones_like(angles), angles)[:, None, :]
    real = torch.view_as_real(turned)
    return torch.cat([(real.transpose(-1, -2) if layout == "half" else real).flatten(-2), rest], -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 257), (2, 5, 1024)])
def test_eager_agrees_with_the_formula_in_float64(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    weight = torch.randn(shape[-1]).to(dtype)
    normalized, total = add_rmsnorm(x, y, weight, 1e-5)
    assert torch.equal(total, x + y)
    for got, expected in (
        (rmsnorm(x, weight, 1e-5), rmsnorm_float64(x, weight, 1e-5)),
        (normalized, rmsnorm_float64(total, weight, 1e-5)),
        (layernorm(x, weight, weight, 1e-5), layernorm_float64(x, weight, weight, 1e-5)),
        (softmax(x), softmax_float64(x)),
        (silu_mul(x, y), silu_mul_float64(x, y)),
        (gelu_mul(x, y), gelu_mul_float64(x, y)),
    ):
        assert got.dtype == dtype
        assert got.shape == x.shape
        torch.testing.assert_close(got.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pairs", [4, 8])
def test_rope_rotates_pairs_and_copies_the_rest(pairs: int, layout: Layout, dtype: torch.dtype) -> None:
    x = torch.randn(2, 6, 3, 16).to(dtype)
    angles = torch.outer(torch.arange(6, dtype=torch.float64), 10000.0 ** (-torch.arange(pairs).double() / pairs))
    cos, sin = rope_table(6, 2 * pairs)
    got = rope(x, cos, sin, layout)
    expected = rope_as_complex_numbers(x, angles, layout)
    torch.testing.assert_close(got.double(), expected, rtol=TOLERANCE[dtype], atol=2 * TOLERANCE[dtype])
    torch.testing.assert_close(rope(got, cos, -sin, layout).double(), x.double(), rtol=0.02, atol=0.03)


def test_converted_projection_has_the_same_scores_in_the_other_layout() -> None:
    heads, head_dim, rotary_dim = 3, 16, 12
    cos, sin = rope_table(5, rotary_dim)
    x, query, key = torch.randn(2, 5, 32), torch.randn(heads * head_dim, 32), torch.randn(heads * head_dim, 32)

    def scores(query: Tensor, key: Tensor, layout: Layout) -> Tensor:
        q, k = (rope(torch.unflatten(x @ w.t(), -1, (heads, -1)), cos, sin, layout) for w in (query, key))
        return torch.einsum("bshd,bthd->bhst", q, k)

    for layout, other in (LAYOUTS, LAYOUTS[::-1]):
        new_query, new_key = (convert_weight(w, heads, other, rotary_dim) for w in (query, key))
        torch.testing.assert_close(scores(new_query, new_key, other), scores(query, key, layout), rtol=1e-4, atol=1e-3)
        back = convert_weight(new_query, heads, layout, rotary_dim)
        assert torch.equal(back, query)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fused_qkv_projection_equals_three_projections_and_rope(layout: Layout) -> None:
    query, key, value = nn.Linear(12, 32), nn.Linear(12, 16, bias=False), nn.Linear(12, 16)
    fused = FusedQKV(query, key, value, heads=4, kv_heads=2)
    x = torch.randn(2, 5, 12)
    cos, sin = rope_table(5, 8)
    parts = [torch.unflatten(layer(x), -1, (-1, 8)) for layer in (query, key, value)]
    for got, expected in zip(fused(x), parts, strict=True):
        torch.testing.assert_close(got, expected)
    rotated = fused.rotated(x, cos, sin, layout)
    expected_parts = [rope(parts[0], cos, sin, layout), rope(parts[1], cos, sin, layout), parts[2]]
    for got, expected in zip(rotated, expected_parts, strict=True):
        torch.testing.assert_close(got, expected)
        assert got.is_contiguous()
    sum(part.square().sum() for part in rotated).backward()  # type: ignore[union-attr]
    assert [name for name, parameter in fused.named_parameters() if parameter.grad is None] == []
    with pytest.raises(ValueError, match="they cannot be split into 3 and 2 heads"):
        FusedQKV(query, key, value, heads=3, kv_heads=2)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
def test_cross_entropy_matches_pytorch_in_float32(dtype: torch.dtype, reduction: Reduction) -> None:
    logits = (5 * torch.randn(3, 4, 50)).to(dtype)
    labels = torch.randint(0, 50, (3, 4))
    labels[1] = 7
    got = cross_entropy(logits, labels, ignore_index=7, reduction=reduction)
    wide = logits if dtype == torch.float64 else logits.float()
    expected = F.cross_entropy(wide.flatten(0, 1), labels.flatten(), ignore_index=7, reduction=reduction)
    torch.testing.assert_close(got.flatten(), expected.flatten())
    assert cross_entropy(logits, torch.full_like(labels, 7), ignore_index=7).isnan()


def test_float64_stays_float64() -> None:
    x = torch.randn(4, 16, dtype=torch.float64)
    torch.testing.assert_close(rmsnorm(x, torch.ones(16)), rmsnorm_float64(x, torch.ones(16), 1e-6), rtol=1e-14, atol=0)
    torch.testing.assert_close(gelu_mul(x, x), gelu_mul_float64(x, x), rtol=1e-13, atol=1e-15)


def test_16_bit_input_with_float32_weight_keeps_its_dtype() -> None:
    assert rmsnorm(torch.randn(2, 8).bfloat16(), torch.ones(8)).dtype == torch.bfloat16


def test_gradients_match_finite_differences() -> None:
    x, y = (torch.randn(3, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weight = torch.randn(8, dtype=torch.float64, requires_grad=True)
    cos, sin = rope_table(3, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(rmsnorm, (x, weight))
    assert torch.autograd.gradcheck(add_rmsnorm, (x, y, weight))
    assert torch.autograd.gradcheck(layernorm, (x, weight, y[0]))
    assert torch.autograd.gradcheck(softmax, (x,))
    assert torch.autograd.gradcheck(silu_mul, (x, y))
    assert torch.autograd.gradcheck(gelu_mul, (x, y))
    assert torch.autograd.gradcheck(lambda x: cross_entropy(x, torch.tensor([1, -100, 3])), (x,))
    for layout in LAYOUTS:
        assert torch.autograd.gradcheck(lambda x, to=layout: rope(x.view(1, 3, 2, 4), cos, sin, to), (x,))
        assert torch.autograd.gradcheck(
            lambda x, to=layout: qkv_rope(x.view(1, 3, 8), cos[:, :1], sin[:, :1], 2, 1, to), (x,)
        )


X = torch.ones(2, 8)
HEADS = torch.ones(2, 3, 2, 8)
TABLE = torch.ones(3, 4)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rmsnorm(X, torch.ones(4)), r"weight has shape \[4\].*\[8\]"),
        (lambda: rmsnorm(torch.tensor(1.0)), "scalar"),
        (lambda: rmsnorm(X.int()), "floating dtype"),
        (lambda: rmsnorm(X, torch.ones(8, device="meta")), "weight is on meta"),
        (lambda: rmsnorm(X, torch.ones(8).int()), "weight has dtype torch.int32"),
        (lambda: rmsnorm(X.to(torch.float8_e4m3fn)), "16 bits or more"),
        (lambda: layernorm(X, None, torch.ones(4)), r"bias has shape \[4\].*\[8\]"),
        (lambda: layernorm(X, torch.ones(8), torch.ones(8, device="meta")), "bias is on meta"),
        (lambda: layernorm(torch.tensor(1.0)), "scalar"),
        (lambda: softmax(torch.tensor(1.0)), "scalar"),
        (lambda: softmax(X.int()), "floating dtype"),
        (lambda: add_rmsnorm(X, torch.ones(8)), "must be alike"),
        (lambda: add_rmsnorm(X, X.bfloat16()), "must be alike"),
        (lambda: add_rmsnorm(X, X, torch.ones(9)), "weight has shape"),
        (lambda: silu_mul(X, torch.ones(8)), "must be alike"),
        (lambda: silu_mul(X, X.bfloat16()), "must be alike"),
        (lambda: silu_mul(X, X.to("meta")), "must be alike"),
        (lambda: gelu_mul(X.bool(), X.bool()), "floating dtype"),
        (lambda: rope(X, TABLE, TABLE), r"\[B, S, H, D\] is needed"),
        (lambda: rope(HEADS, TABLE[:2], TABLE[:2]), r"must be \[3, P\] or \[2, 3, P\]"),
        (lambda: rope(HEADS, TABLE, TABLE[:, :2]), "must be"),
        (lambda: rope(HEADS, torch.ones(3, 5), torch.ones(3, 5)), r"2 \* P <= 8"),
        (lambda: rope(HEADS, TABLE, TABLE, "neox"), "the layout 'neox' is none of half, interleaved"),  # type: ignore[arg-type]
        (lambda: rope(HEADS, TABLE.to("meta"), TABLE), "cos is on meta"),
        (lambda: rope(HEADS, TABLE.clone().requires_grad_(), TABLE), "the tables are constants here"),
        (lambda: qkv_rope(torch.ones(2, 3, 30), TABLE, TABLE, 2, 1), r"\[B, S, 4 \* D\] is needed"),
        (lambda: qkv_rope(torch.ones(2, 3, 32), TABLE, TABLE, 3, 2), "are not a multiple of 2 key"),
        (lambda: cross_entropy(X, torch.zeros(3, dtype=torch.int64)), "labels must have the shape"),
        (lambda: cross_entropy(torch.ones(2, 0), torch.zeros(2, dtype=torch.int64)), "without a class to choose"),
        (lambda: cross_entropy(X, torch.zeros(2, dtype=torch.int32)), "int64 is needed"),
        (lambda: cross_entropy(X, torch.zeros(2, dtype=torch.int64, device="meta")), "labels are on meta"),
        (lambda: cross_entropy(X, torch.zeros(2, dtype=torch.int64), reduction="all"), "none of mean, sum"),  # type: ignore[arg-type]
        (lambda: rope_table(4, 7), "must be even and positive"),
        (lambda: convert_weight(torch.ones(7, 4), 2, "half"), "rows are not a multiple of 2 heads"),
    ],
)
def test_invalid_arguments_are_rejected_with_a_message(call: Callable[[], Tensor], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_torch_compile_captures_the_ops_in_one_graph() -> None:
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
    tanh = FusedGatedMLP(gate, up, down, "gelu_tanh")
    torch.testing.assert_close(tanh(x), down(gelu_mul(gate(x), up(x))))
    fused = FusedGatedMLP(gate, up, down)
    torch.testing.assert_close(fused(x), down(silu_mul(gate(x), up(x))))
    fused(x).sum().backward()
    assert [name for name, parameter in fused.named_parameters() if parameter.grad is None] == []


def test_fused_gate_up_trains_with_the_op_of_the_joined_product(monkeypatch: pytest.MonkeyPatch) -> None:
    called = list[torch.Size]()

    def counted(both: Tensor) -> Tensor:
        called.append(both.shape)
        return swiglu(both)

    monkeypatch.setattr(gate_up, "swiglu", counted)
    fused, x = FusedGateUp(nn.Linear(12, 20), nn.Linear(12, 20)), torch.randn(3, 12)
    fused(x).sum().backward()
    assert called == [(3, 40)]
    with torch.no_grad():
        fused(x)
    assert len(called) == 1, "without gradients the halves are read as they are"


def test_projections_of_different_sizes_are_rejected() -> None:
    with pytest.raises(ValueError, match="must be alike"):
        FusedGateUp(nn.Linear(4, 8), nn.Linear(4, 6))
