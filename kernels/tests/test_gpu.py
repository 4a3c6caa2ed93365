"""Tests that need a GPU: each tier's kernels in each dtype and under torch.compile, bad input, and a job's variants.

For AMD and NVIDIA alike; skipped where there is no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from op_cases import CASES, LONG_CASES, OPS, Case, assert_agrees
from torch import Tensor

from hipward_kernels.attention import attention
from hipward_kernels.dispatch.registry import TIERS, disabled, only
from hipward_kernels.dispatch.tuning import Choice, forced
from hipward_kernels.gpu.arch import cluster_of, fp8_dtype, get_gfx
from hipward_kernels.linear import ROUTES, linear
from hipward_kernels.linear import refusals as linear_refusals
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
    training,
)
from hipward_kernels.ops.rope import LAYOUTS, rope_table
from hipward_kernels.quantization import FP8Linear, Quantized, quantize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hipward_kernels.ops.rope import Layout

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

ROOT = Path(__file__).parent.parent
TOLERANCE = {torch.float32: 3e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@pytest.mark.parametrize("op", OPS)
def test_every_tier_is_available(op: str) -> None:
    assert set(OPS[op].refusals(torch.ones(1, device="cuda")).values()) == {None}


@pytest.mark.parametrize("tier", ["hip", "triton"])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("case", [*CASES, *LONG_CASES], ids=str)
def test_kernels_match_the_definition(case: Case, dtype: torch.dtype, tier: str) -> None:
    assert_agrees(case, tier, dtype, "cuda", TOLERANCE[dtype])


@pytest.mark.parametrize(
    "parameters",
    [
        "row_threads=64 rows=1 preload=1 stream=1",
        "row_threads=64 rows=2 preload=2 once=1",
        "row_threads=64 rows=4 preload=0",
        "row_threads=512 rows=1 preload=0 stream=1",
        "cluster=2 row_threads=64",
        "cluster=8 row_threads=32 preload=2",
        "cluster=8 row_threads=32 preload=0 stream=1",
    ],
)
@pytest.mark.parametrize(("rows", "columns"), [(1, 2048), (37, 4096), (301, 2056)])
def test_all_splits_of_a_row_agree(parameters: str, rows: int, columns: int) -> None:
    if "cluster" in parameters and cluster_of(get_gfx()) == 1:
        pytest.skip("blocks of this GPU do not share rows")
    x, residual = (torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    weight = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
    for op, call in (
        ("rmsnorm", lambda: [rmsnorm(x, weight)]),
        ("add_rmsnorm", lambda: add_rmsnorm(x, residual, weight)),
    ):
        with only("eager"):
            expected = call()
        with only("hip"), forced(Choice("", op, "", 0, 0, "hip", parameters, "a test")):
            for _ in range(3):
                for mine, wanted in zip(call(), expected, strict=True):
                    torch.testing.assert_close(mine, wanted, rtol=1.6e-2, atol=1e-2)


@pytest.mark.parametrize("columns", [1024, 4096, 4104])
@pytest.mark.parametrize("parameters", ["block=4096 warps=8 again=1", "block=1024 warps=4"])
def test_row_read_twice_by_triton_has_the_same_result(parameters: str, columns: int) -> None:
    x, residual = (torch.randn(37, columns, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    weight = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
    with only("eager"):
        expected = add_rmsnorm(x, residual, weight)
    with only("triton"), forced(Choice("", "add_rmsnorm", "", 0, 0, "triton", parameters, "a test")):
        for mine, wanted in zip(add_rmsnorm(x, residual, weight), expected, strict=True):
            torch.testing.assert_close(mine, wanted, rtol=1.6e-2, atol=1e-2)


@pytest.mark.parametrize("table", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("batch", "length"), [(1, 1), (3, 1), (1, 300), (2, 300)])
def test_rope_agrees_for_few_and_many_tokens(batch: int, length: int, layout: Layout, table: torch.dtype) -> None:
    # A thread moves two vectors of 16 bytes, or of two features where those would leave most of the GPU idle.
    cos, sin = (angles.to(table) for angles in rope_table(length, 48, device="cuda"))
    x = torch.randn(batch, length, 24, 64, device="cuda", dtype=torch.bfloat16)
    for call in (
        lambda: (rope(x, cos, sin, layout),),
        lambda: qkv_rope(x.flatten(2), cos, sin, 16, 4, layout),
    ):
        with only("eager"):
            expected = call()
        with only("hip"):
            got = call()
        for mine, wanted in zip(got, expected, strict=True):
            torch.testing.assert_close(mine, wanted, rtol=1.6e-2, atol=1e-2)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(700, 48), (1, 1024), (2049, 1024), (300, 8192), (9, 16384), (3, 65536)])
def test_rmsnorm_backward_in_hip_is_accurate_and_deterministic(rows: int, columns: int, add: bool) -> None:
    x, residual, dy, dtotal = (torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    weight = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
    total = (x + residual if add else x).double().requires_grad_()
    wide = weight.double().requires_grad_()
    normalized = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6) * wide
    outer = normalized * dy.double() + (total * dtotal.double() if add else 0)
    wanted = torch.autograd.grad(outer.sum(), (total, wide))

    leaves = [leaf.requires_grad_() for leaf in (x, weight)]
    runs = []
    for _ in range(2):
        with only("hip"):
            if add:
                got = torch.autograd.grad(add_rmsnorm(x, residual, weight), leaves, (dy, dtotal))
            else:
                got = torch.autograd.grad(rmsnorm(x, weight), leaves, dy)
        runs.append(got)
    for mine, again, exact in zip(*runs, wanted, strict=True):
        assert torch.equal(mine, again)
        error = (mine.double() - exact).square().mean().sqrt() / exact.square().mean().sqrt()
        assert float(error) < 2.5e-3  # bfloat16 rounds to within 2**-9, once


def test_weight_may_have_a_wider_dtype_than_the_rows() -> None:
    x, weight = torch.randn(4, 1024, device="cuda", dtype=torch.bfloat16), torch.randn(1024, device="cuda")
    with only("eager"):
        expected = rmsnorm(x, weight)
    for tiers in ((), ("hip",)):
        with disabled(*tiers):
            torch.testing.assert_close(rmsnorm(x, weight), expected)


@pytest.mark.parametrize("offset", [1, 3])
def test_unaligned_addresses_are_supported(offset: int) -> None:
    storage = torch.randn(2 * 64 * 128 + 8, device="cuda", dtype=torch.bfloat16)
    x = storage[offset : offset + 64 * 128].view(64, 128)
    up = storage[64 * 128 + offset : 2 * 64 * 128 + offset].view(64, 128)
    logits, labels = x, torch.arange(64, device="cuda")
    cos, sin = rope_table(16, 32, device="cuda")
    calls: list[Callable[[], Tensor]] = [
        lambda: rmsnorm(x),
        lambda: add_rmsnorm(x, up)[0],
        lambda: layernorm(x),
        lambda: softmax(x),
        lambda: silu_mul(x, up),
        lambda: gelu_mul(x, up),
        lambda: rope(x.view(2, 16, 8, 32), cos, sin),
        lambda: qkv_rope(x.view(2, 16, 256), cos, sin, 4, 2)[1],
        lambda: cross_entropy(logits, labels),
    ]
    for call in calls:
        with only("eager"):
            expected = call()
        torch.testing.assert_close(call(), expected, rtol=2e-2, atol=2e-2)


def of_heads(x: Tensor) -> Tensor:
    return x.view(len(x), 1, 64, 128)


def first_angles(x: Tensor) -> tuple[Tensor, Tensor]:
    return tuple(table[1:] for table in rope_table(2, 128, device=x.device))  # type: ignore[return-value]


HUGE: dict[str, Callable[[Tensor], Tensor]] = {
    "rmsnorm": rmsnorm,
    "add_rmsnorm": lambda x: add_rmsnorm(x, x)[0],
    "layernorm": layernorm,
    "softmax": softmax,
    "silu_mul": lambda x: silu_mul(x, x),
    "gelu_mul": lambda x: gelu_mul(x, x),
    "swiglu": swiglu,
    "rope": lambda x: rope(of_heads(x), *first_angles(x)),
    "qkv_rope": lambda x: qkv_rope(x[:, None], *first_angles(x), 32, 16)[1],
    "cross_entropy": lambda x: cross_entropy(x, torch.full((len(x),), 5, device=x.device), reduction="none"),
    "linear": lambda x: linear(x.view(-1, 64), torch.eye(64, 16, device=x.device, dtype=x.dtype).t()),
}


@pytest.fixture
def memory() -> Iterator[None]:
    """What other tests keep is given back, and what this one keeps too."""
    torch.cuda.empty_cache()
    yield
    torch.cuda.empty_cache()


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("tier", ["hip", "triton"])
@pytest.mark.parametrize("name", HUGE)
def test_more_than_2_to_the_31_elements_are_supported(name: str, tier: str) -> None:
    columns = 8192
    x = torch.ones(2**31 // columns + 3, columns, device="cuda", dtype=torch.bfloat16)
    x[-2:] = torch.randn(2, columns, device="cuda")
    if tier not in (OPS[name].refusals(x) if name in OPS else {"triton"}):
        pytest.skip(f"{name} has no {tier} tier")
    call = HUGE[name]
    end = x[-7:].clone().requires_grad_()
    with only("eager"):
        expected = call(end)
        (slope,) = torch.autograd.grad(expected.float().sum(), end)
    x.requires_grad_()
    with disabled(*list(TIERS)[: list(TIERS).index(tier)]):
        # A small tensor first: a kernel that was compiled for its size must not be launched on the large one.
        small = x.detach()[-1024:].clone().requires_grad_()
        torch.autograd.grad(call(small).float().sum(), small)
        result = call(x)
        (gradient,) = torch.autograd.grad(result, x, torch.ones_like(result))
    part = expected.shape[0]
    torch.testing.assert_close(result[-part:].float(), expected.float(), rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(gradient[-7:].float(), slope.float(), rtol=2e-2, atol=2e-2)


@pytest.mark.usefixtures("memory")
def test_attention_supports_more_than_2_to_the_31_elements() -> None:
    """Forward: cuDNN's backward refuses so large a batch with an error of its own."""
    x = torch.randn(2**31 // 8192 + 3, 64, 1, 128, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        torch.testing.assert_close(attention(x, x, x)[-2:], attention(x[-2:], x[-2:], x[-2:]), rtol=2e-2, atol=2e-2)


@pytest.mark.usefixtures("memory")
def test_more_than_2_to_the_31_elements_in_fp8_are_supported() -> None:
    dtype = fp8_dtype(get_gfx())
    if dtype is None:
        pytest.skip("this GPU has no 8-bit matrix units")
    x = torch.randn(2**31 // 8192 + 3, 8192, device="cuda", dtype=torch.bfloat16)
    layer = torch.nn.Linear(8192, 16, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        expected = quantize(x[-2:].clone(), dtype).scales  # A small tensor first, as above.
        torch.testing.assert_close(quantize(x, dtype).scales[-2:], expected)
        torch.testing.assert_close(FP8Linear(layer)(x)[-2:], layer(x[-2:]), rtol=0.1, atol=0.1)


def test_float64_runs_in_eager() -> None:
    x = torch.randn(4, 8, dtype=torch.float64, device="cuda")
    assert OPS["rmsnorm"].function(x).__module__.endswith(".eager")
    assert rmsnorm(x).dtype == torch.float64


def test_arguments_on_two_devices_are_rejected() -> None:
    x = torch.randn(4, 8, device="cuda")
    for call in (lambda: rmsnorm(x, torch.ones(8)), lambda: silu_mul(x, x.cpu()), lambda: add_rmsnorm(x, x.cpu())):
        with pytest.raises(ValueError, match="cpu"):
            call()


def test_torch_compile_captures_the_kernels_in_one_graph_with_gradients() -> None:
    cos, sin = rope_table(16, 64, device="cuda")
    labels = torch.arange(64, device="cuda")

    def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
        y, total = add_rmsnorm(rmsnorm(x, weight), up, weight)
        y = gelu_mul(silu_mul(y, up), layernorm(total, weight, weight) + softmax(x))
        q, k, v = qkv_rope(rope(y.view(4, 16, 16, 64), cos, sin).view(4, 16, 1024), cos, sin, 8, 4, "interleaved")
        return cross_entropy(torch.cat([q, k, v], 2).view(64, 1024), labels)

    leaves = [
        torch.randn(64, 1024, device="cuda"),
        torch.randn(1024, device="cuda"),
        torch.randn(64, 1024, device="cuda"),
    ]
    results = []
    for run in (torch.compile(block, fullgraph=True), block):
        arguments = [leaf.clone().requires_grad_() for leaf in leaves]
        loss = run(*arguments)
        results.append([loss, *torch.autograd.grad(loss, arguments)])
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)


def test_launches_can_be_captured_in_a_graph() -> None:
    x, weight = torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16), torch.ones(1024, device="cuda").bfloat16()
    rmsnorm(x, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = silu_mul(rmsnorm(x, weight), x)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(y, silu_mul(rmsnorm(x, weight), x))


def test_ops_work_on_other_threads_and_streams() -> None:
    x = torch.randn(512, 4096, device="cuda", dtype=torch.bfloat16)
    expected = rmsnorm(x)
    torch.cuda.synchronize()
    results: list[Tensor] = []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):  # type: ignore[no-untyped-call]
            for _ in range(200):
                result = rmsnorm(x)
            torch.cuda.current_stream().synchronize()
            results.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(threads)
    for result in results:
        assert torch.equal(result, expected)


def test_fp8_rows_match_the_definition() -> None:
    dtype = fp8_dtype(get_gfx())
    if dtype is None:
        pytest.skip("this GPU has no 8-bit matrix units")
    for shape in ((1, 16), (33, 4096), (5, 14336), (3, 17)):
        x = torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 100
        x[0] = 0
        got = quantize(x, dtype)
        with only("eager"):
            expected = quantize(x, dtype)
        torch.testing.assert_close(got.scales, expected.scales)
        # A quotient at the edge of two steps may go to either.
        apart = (got.values.float() - expected.values.float()).abs()
        assert float((apart > 0).float().mean()) < 1e-3
        assert bool((apart <= expected.values.float().abs() / 8 + 1e-2).all())


@pytest.mark.parametrize("bias", [False, True])
def test_fp8_product_matches_the_rounded_values(bias: bool) -> None:
    layer = torch.nn.Linear(512, 256, bias=bias, device="cuda", dtype=torch.bfloat16)
    quantized = FP8Linear(layer)
    x = torch.randn(4, 33, 512, device="cuda", dtype=torch.bfloat16)
    assert quantized.uses_matrix_units(x)
    rows = quantize(x.flatten(0, 1), quantized.dtype).dequantized(torch.float32)
    weight = Quantized(quantized.values, quantized.scales).dequantized(torch.float32)
    exact = torch.nn.functional.linear(rows, weight, layer.bias.float() if bias else None).view(4, 33, 256)
    with torch.no_grad():
        torch.testing.assert_close(quantized(x).float(), exact, rtol=2e-2, atol=2e-2)
        assert quantized.error(x, layer)[1] < 0.06


@pytest.mark.parametrize("heads", [(4, 4), (8, 2)])
def test_attention_supports_decode_steps_and_chunks(heads: tuple[int, int]) -> None:
    for queries in (1, 5, 64):
        q = torch.randn(2, queries, heads[0], 64, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(2, 64, heads[1], 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        with disabled("sdpa"):
            expected = attention(q.float(), k.float(), v.float(), causal=True)
        torch.testing.assert_close(attention(q, k, v, causal=True).float(), expected, rtol=2e-2, atol=2e-2)


def test_all_routes_of_a_linear_layer_agree() -> None:
    x, weight = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((3, 7, 64), (48, 64)))
    expected = torch.nn.functional.linear(x.float(), weight.float())
    for route, run in ROUTES.items():
        if linear_refusals(x, weight)[route] is None:
            torch.testing.assert_close(run(x, weight, None).float(), expected, rtol=2e-2, atol=0.2)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_on_a_device_other_than_the_current_one() -> None:
    x = torch.randn(64, 1024, device="cuda:1")
    with only("eager"):
        expected = rmsnorm(x)
    torch.testing.assert_close(rmsnorm(x), expected)


@pytest.mark.parametrize("example", ["rmsnorm.py", "swiglu_mlp.py", "attention_block.py"])
def test_fused_variants_are_timed(example: str) -> None:
    file = ROOT / "examples" / example
    done = subprocess.run(
        [sys.executable, "-m", "hipward_kernels.harness", str(file), "--device", "cuda:0", "--time-cap", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    environment = next(line for line in lines if line["type"] == "environment")
    assert environment["clock"] == "device events"
    assert environment["cache"].startswith("cold (")
    sampled = {line["variant"] for line in lines if line["type"] == "sampled"}
    more = {
        "rmsnorm.py": {"model-new"},
        "swiglu_mlp.py": {"fused-projections", "model-new"},
        "attention_block.py": {"attention-routing", "fused-projections"},
    }
    reasons = {line["variant"]: line["reason"] for line in lines if line.get("reason")}
    assert sampled == {"eager", "eager-control", "compile", "fused-ops"} | more[example], reasons
    assert lines[-1] == {"type": "finished"}


STEPS: dict[str, Callable[..., Any]] = {
    "rmsnorm": lambda x, _, weight: rmsnorm(x, weight),
    "rmsnorm without weight": lambda x, *_: rmsnorm(x),
    "add_rmsnorm": add_rmsnorm,
    "add_rmsnorm, sum unused": lambda *arguments: add_rmsnorm(*arguments)[0],
    "silu_mul": lambda x, other, _: silu_mul(x, other),
    "gelu_mul": lambda x, other, _: gelu_mul(x, other),
    "layernorm": lambda x, _, weight: layernorm(x, weight, 2 * weight),
    "layernorm without weight": lambda x, _, weight: layernorm(x, None, weight),
    "softmax": lambda x, *_: softmax(x),
}


def gradients(name: str, layout: str, dtype: torch.dtype, scale: torch.dtype) -> list[Tensor]:
    """The outputs of an op and its gradients, for the same random arguments in each call."""
    torch.manual_seed(0)
    both = torch.randn(3, 37, 2 * 1024, device="cuda", dtype=dtype)
    # The halves of one tensor are views of rows that are not contiguous.
    leaves = [half.detach() if layout == "views" else half.contiguous() for half in both.chunk(2, -1)]
    leaves = [leaf.requires_grad_() for leaf in (*leaves, torch.randn(1024, device="cuda", dtype=scale))]
    outputs = STEPS[name](*leaves)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    outer = [torch.randn(3, 37, 2 * 1024, device="cuda", dtype=dtype)[..., :1024] for _ in outputs]
    if layout == "expanded":
        outer = [torch.ones((), device="cuda", dtype=dtype).expand_as(x) for x in outputs]
    found = torch.autograd.grad(outputs, leaves, outer, allow_unused=True)
    return [*outputs, *(x for x in found if x is not None)]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("layout", ["contiguous", "views", "expanded"])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(torch.bfloat16, torch.bfloat16), (torch.float16, torch.float32), (torch.float32, torch.float32)],
)
def test_compiled_training_step_equals_that_in_python(
    name: str, layout: str, dtype: torch.dtype, scale: torch.dtype
) -> None:
    assert training.module() is not None
    with only("hip"):
        mine = gradients(name, layout, dtype, scale)
        assert type(mine[0].grad_fn).__name__ == "CppFunction"
    with only("hip"), disabled(training.NAME):
        expected = gradients(name, layout, dtype, scale)
        assert type(expected[0].grad_fn).__name__ != "CppFunction"
    for got, wanted in zip(mine, expected, strict=True):
        assert torch.equal(got, wanted)


def test_compiled_training_step_has_no_second_derivative() -> None:
    x = torch.randn(8, 1024, device="cuda", requires_grad=True)
    for y in (rmsnorm(x), silu_mul(x, x)):
        with pytest.raises(RuntimeError, match="no derivative of its own"):
            torch.autograd.grad(y.sum(), x, create_graph=True)


def test_compiled_training_step_can_be_captured_in_a_graph() -> None:
    x = torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    weight = torch.randn(1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)

    def step() -> list[Tensor]:
        return list(torch.autograd.grad(silu_mul(rmsnorm(x, weight), x).float().sum(), (x, weight)))

    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    with torch.no_grad():
        x.copy_(torch.randn_like(x))
    graph.replay()
    for got, wanted in zip(captured, step(), strict=True):
        assert torch.equal(got, wanted)


def test_training_step_is_compiled_with_the_model() -> None:
    x = torch.randn(64, 1024, device="cuda", requires_grad=True)
    weight = torch.randn(1024, device="cuda", requires_grad=True)

    def loss(x: Tensor, weight: Tensor) -> Tensor:
        return silu_mul(rmsnorm(x, weight) * 2, x).square().mean()

    expected = torch.autograd.grad(loss(x, weight), (x, weight))
    compiled = torch.compile(loss, fullgraph=True)
    for got, wanted in zip(torch.autograd.grad(compiled(x, weight), (x, weight)), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)
