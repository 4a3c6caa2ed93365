"""The compiled training steps, on the CPU: the C++ source is built, and a Python function is the driver's launch."""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from hipward_kernels.bench import rivals
from hipward_kernels.bench import training as bench
from hipward_kernels.bench.op_cases import OURS as OPS
from hipward_kernels.bench.op_cases import Case
from hipward_kernels.bench.rivals import HEAD_DIM, HEADS, KV_HEADS
from hipward_kernels.dispatch.registry import disabled, disabled_by
from hipward_kernels.jit import extension
from hipward_kernels.jit.driver import INVALID_CONTEXT, LaunchError
from hipward_kernels.jit.libraries import BuildError
from hipward_kernels.ops import training
from hipward_kernels.ops.qkv_rope.eager import qkv_rope
from hipward_kernels.ops.rope.eager import rope
from hipward_kernels.ops.rope.layout import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from hipward_kernels.ops.rope.layout import Layout

FORWARD, BACKWARD, ADD_PARTS, SUM_LOSSES = 1, 2, 3, 4
LAYERNORM, SOFTMAX, SWIGLU, ROPE, QKV_ROPE, CROSS_ENTROPY = 4, 5, 6, 7, 8, 9
"""Numbers of these ops in `enum Op`; as kernels, the forward is ten times the number, the backward one more."""
PARTS = 2
EPS = 1e-6


def matrix(address: int, rows: int, columns: int, stride: int) -> Tensor:
    """Rows of float32 at an address, which may be written."""
    memory = (ctypes.c_float * ((rows - 1) * stride + columns)).from_address(address)
    return torch.frombuffer(memory, dtype=torch.float32).as_strided((rows, columns), (stride, 1))


def heads_at(address: int, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """Heads `[B, S, H, D]` of float32 at an address, which may be written; `strides` are those of B, S and H."""
    count = sum((size - 1) * stride for size, stride in zip(shape, (*strides, 1), strict=True)) + 1
    memory = (ctypes.c_float * count).from_address(address)
    return torch.frombuffer(memory, dtype=torch.float32).as_strided(tuple(shape), (*strides, 1))


class Kernels:
    """The kernels of RMSNorm as the driver would run them, with the arguments read from memory."""

    def __init__(self) -> None:
        self.of_kernel: dict[int, Sequence[int]] = {}
        self.forms: list[tuple[int, ...]] = []
        self.codes: list[int] = []
        self.failures: list[int] = []
        self.shifts = False

    def prepared(self, form: Sequence[int]) -> tuple[int, ...] | None:
        self.forms.append(tuple(form))
        if form[1] in (ROPE, QKV_ROPE, CROSS_ENTROPY):
            kernel = 10 * form[1] + form[2]
            self.of_kernel[kernel] = form
            units = form[6] * form[7] // 8
            return kernel, units, 1, units, SUM_LOSSES, 1, 64
        if form[1] in (LAYERNORM, SOFTMAX, SWIGLU):
            kernel = 10 * form[1] + form[2]
            return (kernel, 1, 64, PARTS, ADD_PARTS, 1, 64) if form[2] else (kernel, 1, 64)
        return (BACKWARD, 1, 64, PARTS, ADD_PARTS, 1, 64) if form[2] else (FORWARD, 1, 64)

    def failed(self, code: int, *_: int) -> None:
        self.failures.append(code)
        if code != INVALID_CONTEXT:
            raise LaunchError("launching a kernel failed", code)

    def launch(self, *arguments: Any) -> int:
        if self.codes and (code := self.codes.pop()):
            return code
        function, addresses = arguments[0], ctypes.cast(arguments[9], ctypes.POINTER(ctypes.c_void_p))

        def read(kinds: str) -> list[Any]:
            types: dict[str, Any] = {
                "P": ctypes.c_uint64,
                "q": ctypes.c_int64,
                "i": ctypes.c_int32,
                "I": ctypes.c_uint32,
                "f": ctypes.c_float,
            }
            return [types[kind].from_address(addresses[index]).value for index, kind in enumerate(kinds)]

        kernels: dict[int, Callable[[Callable[[str], list[Any]]], None]] = {
            FORWARD: self.rmsnorm,
            BACKWARD: self.rmsnorm_backward,
            10 * LAYERNORM: self.layernorm,
            10 * LAYERNORM + 1: self.layernorm_backward,
            10 * SOFTMAX: self.softmax,
            10 * SOFTMAX + 1: self.softmax_backward,
            10 * SWIGLU: self.swiglu,
            10 * SWIGLU + 1: self.swiglu_backward,
            10 * ROPE: partial(self.rotate, 10 * ROPE),
            10 * ROPE + 1: partial(self.rotate, 10 * ROPE + 1),
            10 * QKV_ROPE: partial(self.split, 10 * QKV_ROPE),
            10 * QKV_ROPE + 1: partial(self.split, 10 * QKV_ROPE + 1),
            10 * CROSS_ENTROPY: self.cross_entropy,
            10 * CROSS_ENTROPY + 1: self.cross_entropy_backward,
            SUM_LOSSES: self.sum_losses,
            ADD_PARTS: self.add_parts,
        }
        kernels[function](read)
        return 0

    def rmsnorm(self, read: Callable[[str], list[Any]]) -> None:
        x, more, weight, y, total, rows, x_stride, more_stride, columns, over, eps = read("PPPPPqqqiff")
        value = matrix(x, rows, columns, x_stride)
        if total != x:
            value = matrix(total, rows, columns, columns).copy_(value + matrix(more, rows, columns, more_stride))
        r = torch.rsqrt(value.square().sum(1, keepdim=True) * over + eps)
        matrix(y, rows, columns, columns).copy_(value * r * matrix(weight, 1, columns, columns))

    def rmsnorm_backward(self, read: Callable[[str], list[Any]]) -> None:
        dy, x, weight, more, dx, parts, rows, dy_stride, x_stride, more_stride, step, columns, over, eps = read(
            "PPPPPPqqqqqiff"
        )
        value, slope = matrix(x, rows, columns, x_stride), matrix(dy, rows, columns, dy_stride)
        r = torch.rsqrt(value.square().sum(1, keepdim=True) * over + eps)
        g = slope * matrix(weight, 1, columns, columns)
        result = r * (g - value * (r * r * (g * value).sum(1, keepdim=True) * over))
        if more != x:
            result = result + matrix(more, rows, columns, more_stride)
        matrix(dx, rows, columns, columns).copy_(result)
        halves = matrix(parts, step, columns, columns)
        halves[0], halves[1] = (slope * value * r)[::2].sum(0), (slope * value * r)[1::2].sum(0)

    def layernorm(self, read: Callable[[str], list[Any]]) -> None:
        x, weight, bias, y, means, scales, rows, x_stride, columns, over, eps = read("PPPPPPqqiff")
        value = matrix(x, rows, columns, x_stride)
        mean = matrix(means, rows, 1, 1).copy_(value.sum(1, keepdim=True) * over)
        r = matrix(scales, rows, 1, 1).copy_(torch.rsqrt((value - mean).square().sum(1, keepdim=True) * over + eps))
        result = (value - mean) * r
        # Without a weight or bias, the address is that of the rows.
        result = result * matrix(weight, 1, columns, columns) if weight != x else result
        result = result + matrix(bias, 1, columns, columns) if bias != x else result
        matrix(y, rows, columns, columns).copy_(result)

    def layernorm_backward(self, read: Callable[[str], list[Any]]) -> None:
        dy, x, weight, means, scales, dx, parts, rows, dy_stride, x_stride, step, columns, over = read("PPPPPPPqqqqif")
        value, slope = matrix(x, rows, columns, x_stride), matrix(dy, rows, columns, dy_stride)
        r = matrix(scales, rows, 1, 1)
        z = (value - matrix(means, rows, 1, 1)) * r
        g = slope * matrix(weight, 1, columns, columns) if weight != x else slope
        along = (g * z).sum(1, keepdim=True) * over
        matrix(dx, rows, columns, columns).copy_(r * (g - g.sum(1, keepdim=True) * over - z * along))
        if parts != dx:
            # The parts of weight and bias, one after the other; those of a missing one are not stored.
            terms = [slope * z] * (weight != x) + [slope] * self.shifts
            for at in range(step):
                matrix(parts, step, columns * len(terms), columns * len(terms))[at] = torch.cat(
                    [term[at::step].sum(0) for term in terms]
                )

    def softmax(self, read: Callable[[str], list[Any]]) -> None:
        x, y, rows, x_stride, columns = read("PPqqi")
        matrix(y, rows, columns, columns).copy_(torch.softmax(matrix(x, rows, columns, x_stride), 1))

    def softmax_backward(self, read: Callable[[str], list[Any]]) -> None:
        dy, y, dx, rows, dy_stride, columns = read("PPPqqi")
        value, slope = matrix(y, rows, columns, columns), matrix(dy, rows, columns, dy_stride)
        matrix(dx, rows, columns, columns).copy_(value * (slope - (value * slope).sum(1, keepdim=True)))

    def swiglu(self, read: Callable[[str], list[Any]]) -> None:
        gate, up, y, gate_stride, up_stride, vectors, row_vectors = read("PPPqqII")
        rows, columns = vectors // row_vectors, 4 * row_vectors
        halves = matrix(gate, rows, columns, gate_stride), matrix(up, rows, columns, up_stride)
        matrix(y, rows, columns, columns).copy_(torch.nn.functional.silu(halves[0]) * halves[1])

    def swiglu_backward(self, read: Callable[[str], list[Any]]) -> None:
        dy, gate, up, dgate, dup, dy_stride, gate_stride, up_stride, vectors, row_vectors = read("PPPPPqqqII")
        rows, columns = vectors // row_vectors, 4 * row_vectors
        slope, value = matrix(dy, rows, columns, dy_stride), matrix(gate, rows, columns, gate_stride)
        s = torch.sigmoid(value)
        of_gate = slope * matrix(up, rows, columns, up_stride) * (s + value * s * (1 - s))
        matrix(dgate, rows, columns, 2 * columns).copy_(of_gate)
        matrix(dup, rows, columns, 2 * columns).copy_(slope * value * s)

    def turned(self, kernel: int, x: Tensor, tables: tuple[int, int], strides: tuple[int, int]) -> Tensor:
        pairs, half = self.of_kernel[kernel][10:12]
        shape = (x.shape[0] if strides[0] else 1, x.shape[1], 1, pairs)
        cos, sin = (heads_at(table, shape, (*strides, 0))[:, :, 0] for table in tables)
        return rope(x, cos.expand(x.shape[0], -1, -1), -sin if kernel % 10 else sin, "half" if half else "interleaved")

    def rotate(self, kernel: int, read: Callable[[str], list[Any]]) -> None:
        x, cos, sin, y, batch, position, head, table_batch, table_position, units, length = read("PPPPqqqqqII")
        heads, features = self.of_kernel[kernel][8], self.of_kernel[kernel][7]
        shape = (units * 8 // (length * heads * features), length, heads, features)
        value = heads_at(x, shape, (batch, position, head))
        result = self.turned(kernel, value, (cos, sin), (table_batch, table_position))
        matrix(y, 1, result.numel(), result.numel()).copy_(result.reshape(1, -1))

    def split(self, kernel: int, read: Callable[[str], list[Any]]) -> None:
        qkv, q, k, v, cos, sin, *strides, units, length = read("PPPPPPqqqqqqqqqqqqqII")
        heads, kv_heads, features = self.of_kernel[kernel][8], self.of_kernel[kernel][9], self.of_kernel[kernel][7]
        batch = units * 8 // (length * heads * features)
        joined = heads_at(qkv, (batch, length, heads, features), (*strides[:2], features))
        counts = [heads - 2 * kv_heads, kv_heads, kv_heads]
        for index, (address, whole) in enumerate(zip((q, k, v), torch.split(joined, counts, 2), strict=True)):
            part = heads_at(address, whole.shape, strides[2 + 3 * index : 5 + 3 * index])
            source, target = (part, whole) if kernel % 10 else (whole, part)
            tables = (strides[-2], strides[-1])
            target.copy_(source if index == 2 else self.turned(kernel, source, (cos, sin), tables))

    def labels(self, address: int, rows: int) -> Tensor:
        return torch.frombuffer((ctypes.c_int64 * rows).from_address(address), dtype=torch.int64)

    def cross_entropy(self, read: Callable[[str], list[Any]]) -> None:
        logits, labels, losses, normalizers, stride, ignore_index, columns = read("PPPPqqi")
        rows = self.of_kernel[10 * CROSS_ENTROPY][6]
        value, chosen = matrix(logits, rows, columns, stride), self.labels(labels, rows)
        matrix(normalizers, 1, rows, rows).copy_(value.logsumexp(1)[None])
        result = torch.nn.functional.cross_entropy(value, chosen, ignore_index=ignore_index, reduction="none")
        matrix(losses, 1, rows, rows).copy_(result[None])

    def cross_entropy_backward(self, read: Callable[[str], list[Any]]) -> None:
        dlosses, logits, labels, normalizers, factor, dlogits, dlosses_stride, stride, ignore_index, columns, blocks = (
            read("PPPPPPqqqiI")
        )
        form = self.of_kernel[10 * CROSS_ENTROPY + 1]
        rows, chosen = form[6], self.labels(labels, form[6])
        assert blocks == rows * columns // 8, "the fourth number of the launch"
        probabilities = torch.exp(matrix(logits, rows, columns, stride) - matrix(normalizers, rows, 1, 1))
        slope = torch.nn.functional.one_hot(chosen.clamp(min=0), columns)
        result = (probabilities - slope) * matrix(dlosses, rows, 1, dlosses_stride)
        if factor:
            result *= matrix(factor, 1, 1, 1)
        matrix(dlogits, rows, columns, columns).copy_(torch.where((chosen == ignore_index)[:, None], 0.0, result))

    def sum_losses(self, read: Callable[[str], list[Any]]) -> None:
        losses, labels, result, factor, rows, ignore_index, mean = read("PPPPqqi")
        count = (self.labels(labels, rows) != ignore_index).sum() if mean else torch.tensor(1)
        matrix(result, 1, 1, 1).copy_(matrix(losses, 1, rows, rows).sum() / count)
        matrix(factor, 1, 1, 1).copy_(1 / count)

    def add_parts(self, read: Callable[[str], list[Any]]) -> None:
        parts, dweight, count, columns = read("PPqi")
        matrix(dweight, 1, columns, columns).copy_(matrix(parts, count, columns, columns).sum(0, keepdim=True))


@pytest.fixture(scope="module")
def native() -> Any:
    return extension.load(training.SOURCE, "hipward_training")


@pytest.fixture
def kernels(native: Any) -> Iterator[Kernels]:
    made = Kernels()
    pointer, number = ctypes.c_void_p, ctypes.c_uint
    launch = ctypes.CFUNCTYPE(ctypes.c_int, pointer, *[number] * 7, pointer, pointer, pointer)(made.launch)
    stream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, pointer)(lambda *_: 0)
    addresses = [ctypes.cast(function, pointer).value for function in (launch, stream)]
    native.connect(*addresses, made.prepared, made.failed)
    yield made
    # A later call must not reach functions that no longer exist.
    native.connect(0, 0, lambda _: None, made.failed)


def test_rmsnorm_has_the_gradients_of_its_definition(native: Any, kernels: Kernels) -> None:
    x = torch.randn(2, 3, 16)[:, :2].requires_grad_()
    weight, dy = torch.randn(16, requires_grad=True), torch.randn(2, 2, 16)
    assert native.rmsnorm(x, weight, EPS, 0) is None, "these rows have no single distance"
    x = torch.randn(6, 32)[:, :16].requires_grad_()
    dy = torch.randn(6, 16)
    expected = torch.nn.functional.rms_norm(x, (16,), weight, EPS)
    wanted = torch.autograd.grad(expected, (x, weight), dy)
    for outer in (dy, dy.t().contiguous().t()):
        y = native.rmsnorm(x, weight, EPS, 0)
        torch.testing.assert_close(y, expected)
        for got, exact in zip(torch.autograd.grad(y, (x, weight), outer), wanted, strict=True):
            torch.testing.assert_close(got, exact)
    assert kernels.forms == [
        (0, 0, 0, -1, 6, 6, 6, 16, 32, 32, 0, 0, 0),
        (0, 0, 1, -1, 6, 6, 6, 16, 0, 0, 0, 0, 0),
    ], "kernels are selected once for each form of the arguments"


def test_add_rmsnorm_passes_on_the_gradient_of_the_sum(native: Any, kernels: Kernels) -> None:  # noqa: ARG001
    x, residual, weight, dy, dtotal = (torch.randn(4, 16) for _ in range(5))
    leaves = [leaf.requires_grad_() for leaf in (x, residual, weight[0].clone())]
    total = x + residual
    expected = torch.nn.functional.rms_norm(total, (16,), leaves[2], EPS)
    for outer in ((dy, dtotal), (dy, None)):
        count = 1 if outer[1] is None else 2
        wanted = torch.autograd.grad((expected, total)[:count], leaves, outer[:count], retain_graph=True)
        outputs = native.add_rmsnorm(x, residual, leaves[2], EPS, 0)
        torch.testing.assert_close(outputs, (expected, total))
        for got, exact in zip(torch.autograd.grad(outputs[:count], leaves, outer[:count]), wanted, strict=True):
            torch.testing.assert_close(got, exact)


@pytest.mark.parametrize("present", [(True, True), (True, False), (False, True), (False, False)])
def test_layernorm_has_the_gradients_of_its_definition(
    native: Any, kernels: Kernels, present: tuple[bool, bool]
) -> None:
    x = torch.randn(6, 32)[:, :16].requires_grad_()
    weight, bias = (torch.randn(16, requires_grad=True) if there else None for there in present)
    kernels.shifts = present[1]
    expected = torch.nn.functional.layer_norm(x, (16,), weight, bias, EPS)
    leaves = [leaf for leaf in (x, weight, bias) if leaf is not None]
    dy = torch.randn(6, 16)
    wanted = torch.autograd.grad(expected, leaves, dy)
    y = native.layernorm(x, weight, bias, EPS, 0)
    torch.testing.assert_close(y, expected)
    for got, exact in zip(torch.autograd.grad(y, leaves, dy.t().contiguous().t()), wanted, strict=True):
        torch.testing.assert_close(got, exact)
    if bias is not None and weight is not None:
        assert native.layernorm(x, weight, bias.double(), EPS, 0) is None, "two dtypes"


def test_softmax_has_the_gradient_of_its_definition(native: Any, kernels: Kernels) -> None:  # noqa: ARG001
    x, dy = torch.randn(2, 3, 16, requires_grad=True), torch.randn(2, 3, 16)
    y = native.softmax(x, 0)
    expected = torch.softmax(x, -1)
    torch.testing.assert_close(y, expected)
    (got,), (wanted,) = torch.autograd.grad(y, x, dy), torch.autograd.grad(expected, x, dy)
    torch.testing.assert_close(got, wanted)
    with pytest.raises(RuntimeError, match="softmax: the fused backward has no derivative"):
        torch.autograd.grad(native.softmax(x, 0).sum(), x, create_graph=True)


def test_swiglu_has_the_gradient_of_its_definition(native: Any, kernels: Kernels) -> None:
    dy = torch.randn(6, 16)
    for x in (torch.randn(6, 48)[:, :32].requires_grad_(), torch.randn(1, 32, requires_grad=True)):
        gate, up = x.chunk(2, -1)
        expected = torch.nn.functional.silu(gate) * up
        for outer in (dy[: len(x)], dy.t().contiguous().t()[: len(x)]):
            y = native.swiglu(x, 0)
            torch.testing.assert_close(y, expected)
            wanted = torch.autograd.grad(expected, x, outer, retain_graph=True)
            torch.testing.assert_close(torch.autograd.grad(y, x, outer), wanted)
    assert native.swiglu(torch.randn(6, 36, requires_grad=True), 0) is None, "halves of no whole vectors"
    assert (0, SWIGLU, 1, -1, 6, -1, 6, 16, 0, 0, 0, 0, 0) in kernels.forms


def gradients_are_those_of(mine: Sequence[Tensor], exact: Sequence[Tensor], x: Tensor) -> None:
    """Compares outputs, and the gradients of `x` for dense gradients, transposed ones and those of one output."""
    for got, expected in zip(mine, exact, strict=True):
        torch.testing.assert_close(got, expected)
    dense = [torch.randn_like(y) for y in exact]
    transposed = [dy.transpose(1, 2).contiguous().transpose(1, 2) for dy in dense]
    shifted = [torch.randn(dy.numel() + 1)[1:].view(dy.shape) for dy in dense]
    for outer in (dense, transposed, shifted, dense[:1]):
        wanted = torch.autograd.grad(exact[: len(outer)], x, outer, retain_graph=True)
        torch.testing.assert_close(
            torch.autograd.grad(mine[: len(outer)], x, outer, retain_graph=True), wanted, msg=f"{len(outer)} gradients"
        )


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("batched_table", [False, True])
def test_rope_has_the_gradient_of_its_definition(
    native: Any,
    kernels: Kernels,  # noqa: ARG001
    layout: Layout,
    batched_table: bool,
) -> None:
    cos, sin = rope_table(6, 16)
    if batched_table:
        cos, sin = torch.stack([cos, cos.flip(0)]), torch.stack([sin, sin.flip(0)])
    for x in (torch.randn(2, 6, 3, 16), torch.randn(2, 3, 6, 16).transpose(1, 2)):
        x.requires_grad_()
        y = native.rope(x, cos, sin, layout == "half")
        assert y.is_contiguous()
        gradients_are_those_of((y,), (rope(x, cos, sin, layout),), x)
    assert native.rope(x, cos.transpose(-1, -2).contiguous().transpose(-1, -2), sin, True) is None, "tables in order"
    assert native.rope(torch.randn(2, 6, 3, 17)[..., 1:].requires_grad_(), cos, sin, True) is None, "no whole vectors"
    with pytest.raises(RuntimeError, match="no derivative of its own"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_qkv_rope_has_the_gradient_of_its_definition(
    native: Any,
    kernels: Kernels,  # noqa: ARG001
    layout: Layout,
) -> None:
    cos, sin = rope_table(6, 16)
    for x in (torch.randn(2, 6, 8 * 16), torch.randn(6, 2, 8 * 16).transpose(0, 1)):
        x.requires_grad_()
        mine = native.qkv_rope(x, cos, sin, 4, 2, layout == "half")
        gradients_are_those_of(mine, qkv_rope(x, cos, sin, 4, 2, layout), x)


def test_cross_entropy_has_the_gradient_of_its_definition(native: Any, kernels: Kernels) -> None:  # noqa: ARG001
    labels = torch.tensor([3, -100, 0, 15, 7, -100])
    for x in (torch.randn(6, 16), torch.randn(6, 32)[:, :16]):
        x.requires_grad_()
        for reduce in (torch.Tensor.sum, lambda losses: losses @ torch.arange(6.0)):
            losses = native.cross_entropy(x, labels, -100, "none")
            expected = torch.nn.functional.cross_entropy(x, labels, reduction="none")
            torch.testing.assert_close(losses, expected)
            (got,), (wanted,) = torch.autograd.grad(reduce(losses), x), torch.autograd.grad(reduce(expected), x)
            torch.testing.assert_close(got, wanted)
        for reduction in ("sum", "mean"):
            loss = native.cross_entropy(x, labels, -100, reduction)
            expected = torch.nn.functional.cross_entropy(x, labels, reduction=reduction)
            torch.testing.assert_close(loss, expected)
            (got,), (wanted,) = torch.autograd.grad(3 * loss, x), torch.autograd.grad(3 * expected, x)
            torch.testing.assert_close(got, wanted)
    assert native.cross_entropy(torch.randn(4, 17)[:, 1:].requires_grad_(), labels[:4], -100, "mean") is None, (
        "no whole vectors"
    )


def test_step_is_a_node_like_those_of_pytorch(native: Any, kernels: Kernels) -> None:  # noqa: ARG001
    x, weight = torch.randn(4, 16, requires_grad=True), torch.randn(16, requires_grad=True)
    y = native.rmsnorm(x, weight, EPS, 0)
    assert y.grad_fn.name() == "hipward_rmsnorm_backward"
    (first,) = torch.autograd.grad(y.sum(), weight, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), weight), (first,))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), weight)
    assert native.rmsnorm(x.detach(), weight.detach(), EPS, 0).grad_fn is None
    with torch.no_grad():
        assert native.softmax(x, 0).grad_fn is None
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.randn(4, 16))  # type: ignore[no-untyped-call]
        assert native.softmax(dual, 0) is None, "the derivative in forward mode would be lost"
    changed = native.softmax(x, 0)
    changed.data_ptr()
    with torch.no_grad():
        changed.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(changed.sum(), x)


def test_second_derivative_is_refused(native: Any, kernels: Kernels) -> None:  # noqa: ARG001
    x, weight = torch.randn(4, 16, requires_grad=True), torch.randn(16)
    with pytest.raises(RuntimeError, match=r"rmsnorm: the fused backward has no derivative of its own"):
        torch.autograd.grad(native.rmsnorm(x, weight, EPS, 0).sum(), x, create_graph=True)


def test_thread_without_a_context_gets_one_and_launches_again(native: Any, kernels: Kernels) -> None:
    x, weight = torch.randn(4, 16, requires_grad=True), torch.randn(16)
    kernels.codes = [INVALID_CONTEXT]
    assert native.rmsnorm(x, weight, EPS, 0) is not None
    assert kernels.failures == [INVALID_CONTEXT]
    # The second launch fails in another way.
    kernels.codes = [1, INVALID_CONTEXT]
    with pytest.raises(LaunchError, match="launching a kernel failed"):
        native.rmsnorm(x, weight, EPS, 0)
    assert kernels.failures == [INVALID_CONTEXT, INVALID_CONTEXT, 1]


def test_build_failures_are_reported_and_leave_the_steps_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HIPWARD_JIT_CACHE", str(tmp_path))
    source = tmp_path / "bad.cpp"
    source.write_text("int one() { return two; }")
    with pytest.raises(BuildError, match=r"bad\.cpp does not compile with .*[\s\S]*two"):
        extension.load(source, "bad")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match="no C\\+\\+ compiler"):
        extension.load(source, "bad")
    training._module.cache_clear()
    assert training.module() is None
    assert "training steps run in Python" in caplog.text
    training._module.cache_clear()


def test_steps_in_python_can_be_chosen() -> None:
    assert disabled_by({"HIPWARD_DISABLE": "native"}) == {"native"}
    with disabled(training.NAME):
        assert training.module() is None


def test_benchmark_needs_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["training"])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="2"):
        bench.main()
    assert "there is no GPU here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--op", "rmsnorm,norm"], "there is no op norm; the ops are rmsnorm"),
        (["--dtype", "float64"], "no gradients are compared in float64"),
    ],
)
def test_benchmark_names_an_unknown_op_and_dtype(
    option: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["training", *option])
    with pytest.raises(SystemExit, match="2"):
        bench.main()
    assert message in capsys.readouterr().err


def test_benchmark_without_a_rival_of_its_last_op_ends_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    file = tmp_path / "training.csv"
    monkeypatch.setattr(rivals, "UNPACKED", tmp_path / "nothing")
    monkeypatch.setattr(rivals, "version", missing)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.current_device", lambda: 0)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(sys, "argv", ["training", "--op", "rope,swiglu", "--without", "quack", "--results", str(file)])
    with pytest.raises(SystemExit, match="2"):
        bench.main()
    assert "Liger-Kernel is not installed" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize("op", OPS)
def test_benchmark_compares_variants_that_agree(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without its code generator, which other tests run.
    monkeypatch.setattr("torch.compile", partial(torch.compile, backend="aot_eager"))
    columns = {"rope": 256, "qkv_rope": (HEADS + 2 * KV_HEADS) * HEAD_DIM}.get(op, 64)
    case = Case(op, (8, columns), torch.float32, torch.device("cpu"))
    arguments = bench.arguments_of(case)
    gradients = bench.gradients_of(case, arguments)
    bench.check(case, arguments, gradients)
    variants = bench.variants_of(case, [])
    assert list(variants) == ["hipward", "torch.compile", case.torch_op()]
    wanted = None
    for call in variants.values():
        bench.step(call, arguments, gradients)
        found = [argument.grad for argument in arguments if argument.requires_grad]
        wanted = wanted or found
        torch.testing.assert_close(found, wanted)
