"""Unusual arguments for every op, router and module: a correct result or an error message, never a wrong number.

On the CPU and, where there is one, the GPU. The fused ops' own kernels meet the same layouts in `op_cases.py`, under
Triton's interpreter and on a GPU; here are the parts without kernels of ours, and what every part refuses.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from op_cases import LAYOUTS_IN_MEMORY, OPS, Layout
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.attention import attention
from hipward_kernels.dispatch.registry import disabled, only
from hipward_kernels.linear import linear
from hipward_kernels.linear.preshuffled import PreshuffledLinear
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
from hipward_kernels.ops.rope import rope_table
from hipward_kernels.projections import FusedGatedMLP, FusedGateUp, FusedQKV
from hipward_kernels.quantization import FP8Linear, quantize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
OTHER_DEVICE = {"cpu": "meta", "cuda": "cpu"}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(frozen=True)
class Part:
    """Something without kernels of ours that is given tensors of some shapes."""

    name: str
    shapes: Callable[[int, int], Sequence[tuple[int, ...]]]
    """Of its arguments, for a number of rows and a width."""
    call: Callable[..., Tensor]
    exact: Callable[..., Tensor]
    """The same in plain PyTorch, without routes."""
    off: tuple[str, ...] = ()
    """Routes to switch off, so that the next one runs."""

    def __str__(self) -> str:
        return " without ".join([self.name, *self.off])


def exact_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The definition, head by head. The last query is aligned with the last key."""
    groups = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(groups, 2) for x in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    later = torch.ones(q.shape[1], k.shape[1], device=q.device).triu(1 + k.shape[1] - q.shape[1]).bool()
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(later, -torch.inf).softmax(-1), v)


def exact_qkv(x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.cat([(x @ w.t()).flatten() for w in (q, k, v)])


def layer_of(weight: Tensor) -> nn.Linear:
    """Whose weight is a view of the leaf, as when a model is loaded with `assign=True`."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    layer.weight = nn.Parameter(weight.detach(), requires_grad=False)
    return layer


def fused_qkv(x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    parts = FusedQKV(layer_of(q), layer_of(k), layer_of(v), heads=4, kv_heads=2)(x)
    return torch.cat([part.flatten() for part in parts])


def matrices(rows: int, width: int) -> list[tuple[int, ...]]:
    return [(2, rows, width), (16, width), (16,)]


PARTS = [
    *(
        Part(
            "attention",
            lambda rows, width: [(2, rows, 4, width), (2, rows + 2, 2, width), (2, rows + 2, 2, width)],
            lambda q, k, v: attention(q, k, v, causal=True),
            exact_attention,
            off,
        )
        for off in ((), ("sdpa",))
    ),
    *(Part("linear", matrices, linear, F.linear, off) for off in ((), ("lt",))),
    Part(
        "FusedQKV",
        lambda rows, width: [(2, rows, width), (8, width), (4, width), (4, width)],
        fused_qkv,
        exact_qkv,
    ),
    Part(
        "FusedGateUp",
        lambda rows, width: [(2, rows, width), (8, width), (8, width)],
        lambda x, gate, up: FusedGateUp(layer_of(gate), layer_of(up))(x),
        lambda x, gate, up: F.silu(x @ gate.t()) * (x @ up.t()),
    ),
    Part(
        "FusedGatedMLP",
        lambda rows, width: [(2, rows, width), (8, width), (8, width), (5, 8)],
        lambda x, gate, up, down: FusedGatedMLP(layer_of(gate), layer_of(up), layer_of(down), "gelu_tanh")(x),
        lambda x, gate, up, down: (F.gelu(x @ gate.t(), approximate="tanh") * (x @ up.t())) @ down.t(),
    ),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("layout", LAYOUTS_IN_MEMORY, ids=lambda layout: layout.name)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_all_layouts_have_correct_results_and_gradients(
    part: Part, layout: Layout, dtype: torch.dtype, device: str
) -> None:
    torch.manual_seed(0)
    for rows, width in itertools.product((0, 1, 6), (1, 33, 64)):
        shapes = part.shapes(rows, width)
        stored = [torch.randn(layout.stored(shape), device=device).to(dtype).requires_grad_() for shape in shapes]
        views = [layout.view(x, shape) for x, shape in zip(stored, shapes, strict=True)]
        with disabled(*part.off):
            got = part.call(*views)
        expected = part.exact(*(view.detach().double() for view in views))
        assert got.dtype == dtype
        largest = float(expected.abs().max()) if rows else 0
        torch.testing.assert_close(got.double(), expected, rtol=0, atol=TOLERANCE[dtype] * (1 + largest))
        if rows:
            (gradient,) = torch.autograd.grad(got.sum(), stored[0])
            leaf = views[0].detach().double().requires_grad_()
            others = (view.detach().double() for view in views[1:])
            (wanted,) = torch.autograd.grad(part.exact(leaf, *others).sum(), leaf)
            # The stored tensor's gradient, seen through the same view: rows that are one row share theirs.
            if not layout.rows_are_one:
                seen = layout.view(gradient, shapes[0]).double()
                atol = TOLERANCE[dtype] * (1 + float(wanted.abs().max()))
                torch.testing.assert_close(seen, wanted, rtol=0, atol=atol)


def eight_bit(device: str) -> torch.dtype:
    return torch.float8_e4m3fnuz if torch.version.hip and device == "cuda" else torch.float8_e4m3fn


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", LAYOUTS_IN_MEMORY, ids=lambda layout: layout.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_fp8_rows_support_all_layouts(dtype: torch.dtype, layout: Layout, device: str) -> None:
    for rows, width in itertools.product((0, 1, 5), (1, 17, 64, 70001)):
        x = layout.view(torch.randn(layout.stored((rows, width)), device=device).to(dtype), (rows, width))
        got = quantize(x, eight_bit(device))
        assert got.values.shape == x.shape
        assert got.scales.shape == (rows, 1)
        largest = x.float().abs().amax(-1, keepdim=True) if rows else got.scales
        # Half a step of three bits below the leading one, and half a subnormal step.
        limit = x.float().abs() / 16 + largest / torch.finfo(got.values.dtype).max / 512
        assert bool(((got.dequantized(torch.float32) - x.float()).abs() <= 1.01 * limit).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0, 64), (2, 0, 64), (64,), (3, 5, 64)])
def test_linear_layers_of_other_formats_support_any_number_of_rows(shape: tuple[int, ...], device: str) -> None:
    layer = nn.Linear(64, 32, device=device, dtype=torch.bfloat16)
    x = torch.randn(shape, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for other in (FP8Linear(layer, eight_bit(device)), PreshuffledLinear(layer, rows=1)):
            torch.testing.assert_close(other(x), layer(x), rtol=0.1, atol=0.1)


def test_missing_backward_is_an_error_instead_of_a_lost_gradient() -> None:
    x = torch.randn(4, 16, requires_grad=True)
    with pytest.raises(RuntimeError, match="no backward"):
        quantize(x, torch.float8_e4m3fn)
    with pytest.raises(RuntimeError, match="no backward"):
        FP8Linear(nn.Linear(16, 8), torch.float8_e4m3fn)(x)
    with torch.no_grad():
        quantize(x, torch.float8_e4m3fn)


COS, SIN = rope_table(4, 8)
LABELS = torch.tensor([1, 0, -100, 7])

CALLS: dict[str, tuple[Callable[..., Any], list[Tensor]]] = {
    "rmsnorm": (rmsnorm, [torch.randn(4, 8), torch.randn(8)]),
    "add_rmsnorm": (add_rmsnorm, [torch.randn(4, 8), torch.randn(4, 8), torch.randn(8)]),
    "layernorm": (layernorm, [torch.randn(4, 8), torch.randn(8), torch.randn(8)]),
    "softmax": (softmax, [torch.randn(4, 8)]),
    "silu_mul": (silu_mul, [torch.randn(4, 8), torch.randn(4, 8)]),
    "gelu_mul": (gelu_mul, [torch.randn(4, 8), torch.randn(4, 8)]),
    "swiglu": (swiglu, [torch.randn(4, 8)]),
    "rope": (rope, [torch.randn(2, 4, 2, 8), COS, SIN]),
    "qkv_rope": (lambda x, c, s: qkv_rope(x, c, s, 2, 1)[0], [torch.randn(2, 4, 32), COS, SIN]),
    "cross_entropy": (cross_entropy, [torch.randn(4, 8), LABELS]),
    "attention": (attention, [torch.randn(2, 3, 4, 8), torch.randn(2, 3, 2, 8), torch.randn(2, 3, 2, 8)]),
    "linear": (linear, [torch.randn(3, 8), torch.randn(4, 8), torch.randn(4)]),
    "quantize": (lambda x: quantize(x, torch.float8_e4m3fn).values, [torch.randn(4, 8)]),
    "FP8Linear": (FP8Linear(nn.Linear(8, 4), torch.float8_e4m3fn), [torch.randn(4, 8)]),
    "FusedQKV": (
        lambda x: FusedQKV(nn.Linear(8, 16), nn.Linear(8, 8), nn.Linear(8, 8), 2, 1)(x)[0],
        [torch.randn(2, 3, 8)],
    ),
    "FusedGateUp": (FusedGateUp(nn.Linear(8, 4), nn.Linear(8, 4)), [torch.randn(3, 8)]),
    "PreshuffledLinear": (PreshuffledLinear(nn.Linear(32, 16).bfloat16(), 1), [torch.randn(3, 32).bfloat16()]),
}


def test_table_has_every_op() -> None:
    assert set(OPS) <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_integers_and_wrong_ranks_are_rejected(name: str) -> None:
    call, arguments = CALLS[name]
    call(*arguments)
    for first in (arguments[0].int(), torch.tensor(1.0)):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=r"\S+ \S+ \S+"):
            call(first, *arguments[1:])


@pytest.mark.parametrize("name", CALLS)
def test_non_tensor_argument_is_rejected_by_name(name: str) -> None:
    call, arguments = CALLS[name]
    for at, argument in enumerate(arguments):
        for other in (argument.tolist(), argument.float().numpy()):
            given: list[Any] = [*arguments[:at], other, *arguments[at + 1 :]]
            with pytest.raises(TypeError, match=rf": \w+ is a {type(other).__name__}; a tensor is needed"):
                call(*given)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [name for name, (_, arguments) in CALLS.items() if len(arguments) > 1])
def test_arguments_on_two_devices_are_rejected(name: str, device: str) -> None:
    call, cpu = CALLS[name]
    arguments = [argument.to(device) for argument in cpu]
    for at in range(len(arguments)):
        mixed = list(arguments)
        mixed[at] = mixed[at].to(OTHER_DEVICE[device])
        with pytest.raises((ValueError, RuntimeError), match=r"device|meta|cpu"):
            call(*mixed)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [name for name, (_, arguments) in CALLS.items() if len(arguments) > 1])
def test_mixed_dtypes_use_the_first_dtype_or_are_rejected(name: str, device: str) -> None:
    """A weight or a table may have a precision of its own; two tensors of one kind may not."""
    call, cpu = CALLS[name]
    for at, first, other in itertools.product(range(1, len(cpu)), list(TOLERANCE), list(TOLERANCE)):
        if first == other or not cpu[at].is_floating_point():
            continue
        mixed = [argument.to(device, first) if argument.is_floating_point() else argument for argument in cpu]
        mixed[at] = mixed[at].to(other)
        try:
            got = call(*mixed)
        except (TypeError, ValueError, RuntimeError) as error:
            assert "dtype" in str(error) or "must be alike" in str(error), error  # noqa: PT017 - not raised is fine too
            continue
        with only("eager"):
            expected = call(*(x.double() if x.is_floating_point() else x for x in mixed))
        for mine, exact in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, expected)), strict=True):
            assert mine.dtype == first
            torch.testing.assert_close(mine.double(), exact, rtol=TOLERANCE[first], atol=4 * TOLERANCE[first])
