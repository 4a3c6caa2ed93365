"""Table of the ops with many forms of arguments, for tests that compare a tier with the definition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.dispatch.registry import TIERS, Op, disabled, only
from hipward_kernels.dispatch.tuning import Choice, forced
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
from hipward_kernels.ops.add_rmsnorm import OP as ADD_RMSNORM
from hipward_kernels.ops.cross_entropy import OP as CROSS_ENTROPY
from hipward_kernels.ops.gelu_mul import OP as GELU_MUL
from hipward_kernels.ops.layernorm import OP as LAYERNORM
from hipward_kernels.ops.qkv_rope import OP as QKV_ROPE
from hipward_kernels.ops.rmsnorm import OP as RMSNORM
from hipward_kernels.ops.rope import LAYOUTS, rope_table
from hipward_kernels.ops.rope import OP as ROPE
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.ops.softmax import OP as SOFTMAX
from hipward_kernels.ops.swiglu import OP as SWIGLU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        RMSNORM,
        ADD_RMSNORM,
        LAYERNORM,
        SOFTMAX,
        SILU_MUL,
        GELU_MUL,
        SWIGLU,
        ROPE,
        QKV_ROPE,
        CROSS_ENTROPY,
    )
}

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    """An op at one form of arguments."""

    op: Op
    form: str
    leaves: Callable[[], list[Tensor]]
    """New random arguments that require a gradient, in float32 on the CPU."""
    call: Callable[..., Any]
    """The op as a function of these arguments, for any dtype and device."""
    roundings: float = 1.0
    """Of a 16-bit gradient, which is summed where several rows are one."""

    def __str__(self) -> str:
        return f"{self.op.name} {self.form}"

    def __call__(self, *leaves: Tensor) -> Tensors:
        """What the op returns, as a tuple."""
        result = self.call(*leaves)
        return result if isinstance(result, tuple) else (result,)


Shape = tuple[int, ...]


def row_cases(shapes: Sequence[tuple[int, ...]]) -> Iterator[Case]:
    """The ops on rows, on tensors of these shapes."""
    for shape in shapes:
        form = "x".join(map(str, shape))

        def like(*sizes: tuple[int, ...]) -> Callable[[], list[Tensor]]:
            return lambda: [2 * torch.randn(size) for size in sizes]

        yield Case(RMSNORM, form, like(shape, shape[-1:]), lambda x, w: rmsnorm(x, w, 1e-5))
        yield Case(RMSNORM, f"{form} without weight", like(shape), lambda x: rmsnorm(x, None, 1e-5))
        yield Case(ADD_RMSNORM, form, like(shape, shape, shape[-1:]), lambda x, r, w: add_rmsnorm(x, r, w, 1e-5))
        row = shape[-1:]
        yield Case(LAYERNORM, form, like(shape, row, row), lambda x, w, b: layernorm(x + 3, w, b))
        yield Case(LAYERNORM, f"{form} without bias", like(shape, row), layernorm)
        yield Case(LAYERNORM, f"{form} without weight", like(shape, row), lambda x, b: layernorm(x, None, b))
        yield Case(LAYERNORM, f"{form} without both", like(shape), layernorm)
        yield Case(SOFTMAX, form, like(shape), softmax)
        yield Case(SILU_MUL, form, like(shape, shape), silu_mul)
        yield Case(GELU_MUL, form, like(shape, shape), gelu_mul)
        yield Case(SWIGLU, form, like((*shape[:-1], 2 * shape[-1])), swiglu)


def _halves() -> Iterator[Case]:
    """Views of one product."""
    for op, function in ((SILU_MUL, silu_mul), (GELU_MUL, gelu_mul)):

        def of_halves(x: Tensor, function: Callable[..., Tensor] = function) -> Tensor:
            return function(*x.chunk(2, -1))

        yield Case(op, "halves", lambda: [torch.randn(3, 5, 128)], of_halves)


@dataclass(frozen=True)
class Layout:
    """A way in which the numbers of a tensor may lie in memory."""

    name: str
    stored: Callable[[Shape], Shape]
    """The contiguous tensor that contains them."""
    view: Callable[[Tensor, Shape], Tensor]
    """The view with the requested shape."""
    rows_are_one: bool = False


LAYOUTS_IN_MEMORY = (
    Layout("an element past a vector", lambda s: (math.prod(s) + 1,), lambda x, s: x[1:].view(s)),
    Layout("columns of a wider tensor", lambda s: (*s[:-1], s[-1] + 9), lambda x, s: x[..., 3 : 3 + s[-1]]),
    Layout("columns far apart", lambda s: s[::-1], lambda x, _: x.permute(*range(x.dim())[::-1])),
    Layout("every other column", lambda s: (*s[:-1], 2 * s[-1]), lambda x, _: x[..., ::2]),
    Layout("one row for all", lambda s: (1, *s[1:]), lambda x, s: x.expand(s), rows_are_one=True),
)


def _layouts() -> Iterator[Case]:
    """Every op on tensors that lie in memory in every way, of a width that vectors fit and of one that they do not."""
    for width in (64, 34, 2):
        cos, sin = rope_table(3, width)
        labels = torch.tensor([1, -100, 0, 1])

        def turned(x: Tensor, cos: Tensor = cos, sin: Tensor = sin) -> Tensor:
            return rope(x, cos.to(x.device), sin.to(x.device))

        def split(x: Tensor, cos: Tensor = cos, sin: Tensor = sin) -> Tensors:
            return qkv_rope(x, cos.to(x.device), sin.to(x.device), 2, 1)

        def loss(x: Tensor, labels: Tensor = labels) -> Tensor:
            return cross_entropy(x, labels.to(x.device))

        row = (4, width)
        forms: list[tuple[Op, list[Shape], Callable[..., Any]]] = [
            (RMSNORM, [row, (width,)], rmsnorm),
            (ADD_RMSNORM, [row, row, (width,)], add_rmsnorm),
            (LAYERNORM, [row, (width,), (width,)], layernorm),
            (SOFTMAX, [row], softmax),
            (SILU_MUL, [row, row], silu_mul),
            (GELU_MUL, [row, row], gelu_mul),
            (SWIGLU, [row], swiglu),
            (ROPE, [(4, 3, 2, width)], turned),
            (QKV_ROPE, [(4, 3, 4 * width)], split),
            (CROSS_ENTROPY, [row], loss),
        ]
        for op, shapes, function in forms:
            for layout in LAYOUTS_IN_MEMORY:
                yield _laid_out(op, shapes, function, layout)


def _laid_out(op: Op, shapes: list[Shape], function: Callable[..., Any], layout: Layout) -> Case:
    def leaves() -> list[Tensor]:
        return [torch.randn(layout.stored(shape)) for shape in shapes]

    def call(*stored: Tensor) -> Any:
        return function(*(layout.view(x, shape) for x, shape in zip(stored, shapes, strict=True)))

    return Case(op, f"{shapes[0][-1]} wide, {layout.name}", leaves, call, 4 if layout.rows_are_one else 1)


def _normal(shape: tuple[int, ...]) -> list[Tensor]:
    return [torch.randn(shape)]


def _rope() -> Iterator[Case]:
    for layout in LAYOUTS:
        for heads, head_dim, pairs in ((3, 16, 8), (2, 64, 16), (1, 10, 3), (4, 128, 64)):
            cos, sin = rope_table(7, 2 * pairs)

            def turn(x: Tensor, cos: Tensor = cos, sin: Tensor = sin, layout: Any = layout) -> Tensor:
                return rope(x, cos.to(x.device), sin.to(x.device), layout)

            def split(
                x: Tensor, cos: Tensor = cos, sin: Tensor = sin, layout: Any = layout, heads: int = heads
            ) -> Tensors:
                return qkv_rope(x, cos.to(x.device), sin.to(x.device), 2 * heads, heads, layout)

            form = f"{layout} {heads} heads of {head_dim}, {pairs} pairs"
            shape, width = (2, 7, heads, head_dim), 4 * heads * head_dim
            yield Case(ROPE, form, partial(_normal, shape), turn)
            yield Case(QKV_ROPE, form, partial(_normal, (2, 7, width)), split)
        for shape in ((0, 7, 2, 16), (2, 0, 2, 16), (2, 7, 2, 0)):
            cos, sin = torch.rand(shape[1], shape[3] // 2), torch.rand(shape[1], shape[3] // 2)

            def turn_none(x: Tensor, cos: Tensor = cos, sin: Tensor = sin, layout: Any = layout) -> Tensor:
                return rope(x, cos.to(x.device), sin.to(x.device), layout)

            def split_none(x: Tensor, cos: Tensor = cos, sin: Tensor = sin, layout: Any = layout) -> Tensors:
                return qkv_rope(x.flatten(2), cos.to(x.device), sin.to(x.device), 2, 1, layout)

            yield Case(ROPE, f"{layout} {shape}", partial(_normal, shape), turn_none)
            yield Case(QKV_ROPE, f"{layout} {shape}", partial(_normal, (*shape[:2], 4, shape[3])), split_none)
        batched = torch.rand(2, 7, 8)

        def of_batch(x: Tensor, table: Tensor = batched, layout: Any = layout) -> Tensor:
            return rope(x.transpose(1, 2), table.to(x.device), (1 - table).to(x.device), layout)

        yield Case(
            ROPE,
            f"{layout} of a transposed view, a table for each sequence",
            lambda: [torch.randn(2, 3, 7, 16)],
            of_batch,
        )


def _cross_entropy() -> Iterator[Case]:
    for rows, columns in ((1, 1), (5, 33), (6, 1024), (3, 32000), (0, 8), (2, 70000)):
        labels = torch.randint(0, columns, (rows,))
        labels[rows // 2 :: 3] = -100
        for reduction in ("mean", "sum", "none"):
            if reduction == "mean" and rows < 2:
                continue

            def loss(x: Tensor, labels: Tensor = labels, reduction: Any = reduction) -> Tensor:
                return cross_entropy(x, labels.to(x.device), reduction=reduction)

            def logits(shape: tuple[int, int] = (rows, columns)) -> list[Tensor]:
                return [3 * torch.randn(shape)]

            yield Case(CROSS_ENTROPY, f"{rows}x{columns} {reduction}", logits, loss)


SMALL = [(1, 1), (5, 1), (3, 31), (2, 3, 256), (9, 4097), (50, 8), (0, 16), (3, 0)]
LONG = [(1, 16387), (1, 32773), (2, 65536), (1, 70001)]

CASES = [*row_cases(SMALL), *_halves(), *_layouts(), *_rope(), *_cross_entropy()]
LONG_CASES = list(row_cases(LONG))


def value_and_gradients(case: Case, leaves: list[Tensor]) -> list[Tensor]:
    """The results, then the gradient of a fixed weighting of them for each leaf: none is missing."""
    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    results = case(*leaves)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(result.shape, generator=generator).to(result) for result in results]
    gradients = torch.autograd.grad(results, leaves, weights)
    return [*(result.detach() for result in results), *gradients]


def assert_agrees(case: Case, tier: str, dtype: torch.dtype, device: str, tolerance: float) -> None:
    """A tier gives what the definition gives in float64, up to rounding relative to the largest value."""
    torch.manual_seed(0)
    leaves = [leaf.to(device, dtype) for leaf in case.leaves()]
    with only("eager"):
        expected = value_and_gradients(case, [leaf.double() for leaf in leaves])
    # Slower tiers handle arguments that this one does not support. This tier is tried first, regardless of the table.
    first = Choice("", case.op.name, "", 0, 0, tier, "", "a test")
    with disabled(*list(TIERS)[: list(TIERS).index(tier)]), forced(first):
        with torch.no_grad():
            inferred = list(case(*leaves))
        got = value_and_gradients(case, leaves)
    for mine, wanted in zip([*got, *inferred], [*expected, *expected[: len(inferred)]], strict=True):
        scale = max(float(wanted.abs().max()), 1.0) if wanted.numel() else 1.0
        torch.testing.assert_close(mine.double(), wanted, rtol=0, atol=tolerance * case.roundings * scale)
