"""What only a GPU can show: each tier's kernels in each dtype and under torch.compile, bad input, and a job's rungs.

For AMD and NVIDIA alike; skipped where there is no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from op_cases import CASES, LONG_CASES, OPS, Case, assert_agrees
from torch import Tensor

from hipward_kernels.arch import fp8_dtype, get_gfx
from hipward_kernels.attention import attention
from hipward_kernels.linear import ROUTES
from hipward_kernels.linear import refusals as linear_refusals
from hipward_kernels.ops import add_rmsnorm, cross_entropy, gelu_mul, qkv_rope, rmsnorm, rope, silu_mul
from hipward_kernels.ops.rope import rope_table
from hipward_kernels.quantization import FP8Linear, Quantized, quantize
from hipward_kernels.registry import disabled, only

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

ROOT = Path(__file__).parent.parent
TOLERANCE = {torch.float32: 3e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@pytest.mark.parametrize("tier", ["hip", "triton"])
@pytest.mark.parametrize("op", OPS)
def test_both_tiers_are_there(op: str, tier: str) -> None:
    assert OPS[op].refusals(torch.ones(1, device="cuda"))[tier] is None


@pytest.mark.parametrize("tier", ["hip", "triton"])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("case", [*CASES, *LONG_CASES], ids=str)
def test_the_kernels_agree_with_the_definition(case: Case, dtype: torch.dtype, tier: str) -> None:
    assert_agrees(case, tier, dtype, "cuda", TOLERANCE[dtype])


def test_a_weight_may_be_wider_than_the_rows() -> None:
    x, weight = torch.randn(4, 1024, device="cuda", dtype=torch.bfloat16), torch.randn(1024, device="cuda")
    with only("eager"):
        expected = rmsnorm(x, weight)
    for tiers in ((), ("hip",)):
        with disabled(*tiers):
            torch.testing.assert_close(rmsnorm(x, weight), expected)


@pytest.mark.parametrize("offset", [1, 3])
def test_addresses_that_vectors_cannot_begin_at(offset: int) -> None:
    storage = torch.randn(2 * 64 * 128 + 8, device="cuda", dtype=torch.bfloat16)
    x = storage[offset : offset + 64 * 128].view(64, 128)
    up = storage[64 * 128 + offset : 2 * 64 * 128 + offset].view(64, 128)
    logits, labels = x, torch.arange(64, device="cuda")
    cos, sin = rope_table(16, 32, device="cuda")
    calls: list[Callable[[], Tensor]] = [
        lambda: rmsnorm(x),
        lambda: add_rmsnorm(x, up)[0],
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


def test_more_than_2_to_the_31_elements() -> None:
    columns = 8192
    rows = 2**31 // columns + 3
    x = torch.ones(rows, columns, device="cuda", dtype=torch.bfloat16)
    x[-1] = torch.arange(columns, device="cuda") / columns
    calls: list[Callable[[Tensor], Tensor]] = [rmsnorm, lambda x: silu_mul(x, x), lambda x: add_rmsnorm(x, x)[1]]
    for call in calls:
        with only("eager"):
            expected = call(x[-2:])
        for tiers in ((), ("hip",)):
            with disabled(*tiers):
                torch.testing.assert_close(call(x)[-2:], expected)


def test_float64_runs_in_eager() -> None:
    x = torch.randn(4, 8, dtype=torch.float64, device="cuda")
    assert OPS["rmsnorm"].function(x).__module__.endswith(".eager")
    assert rmsnorm(x).dtype == torch.float64


def test_arguments_on_two_devices_are_refused() -> None:
    x = torch.randn(4, 8, device="cuda")
    for call in (lambda: rmsnorm(x, torch.ones(8)), lambda: silu_mul(x, x.cpu()), lambda: add_rmsnorm(x, x.cpu())):
        with pytest.raises(ValueError, match="cpu"):
            call()


def test_torch_compile_takes_the_kernels_in_one_graph_with_their_gradients() -> None:
    cos, sin = rope_table(16, 64, device="cuda")
    labels = torch.arange(64, device="cuda")

    def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
        y, total = add_rmsnorm(rmsnorm(x, weight), up, weight)
        y = gelu_mul(silu_mul(y, up), total)
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


def test_graph_capture_takes_the_launches() -> None:
    x, weight = torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16), torch.ones(1024, device="cuda").bfloat16()
    rmsnorm(x, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = silu_mul(rmsnorm(x, weight), x)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(y, silu_mul(rmsnorm(x, weight), x))


def test_threads_and_streams_of_their_own() -> None:
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


def test_eight_bit_rows_are_those_of_the_definition() -> None:
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
def test_the_eight_bit_product_is_that_of_the_rounded_numbers(bias: bool) -> None:
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
def test_attention_of_a_decode_step_and_of_a_chunk(heads: tuple[int, int]) -> None:
    for queries in (1, 5, 64):
        q = torch.randn(2, queries, heads[0], 64, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(2, 64, heads[1], 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        with disabled("sdpa"):
            expected = attention(q.float(), k.float(), v.float(), causal=True)
        torch.testing.assert_close(attention(q, k, v, causal=True).float(), expected, rtol=2e-2, atol=2e-2)


def test_each_route_of_a_linear_layer_gives_the_same() -> None:
    x, weight = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((3, 7, 64), (48, 64)))
    expected = torch.nn.functional.linear(x.float(), weight.float())
    for route, run in ROUTES.items():
        if linear_refusals(x, weight)[route] is None:
            torch.testing.assert_close(run(x, weight, None).float(), expected, rtol=2e-2, atol=0.2)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_on_a_device_that_is_not_current() -> None:
    x = torch.randn(64, 1024, device="cuda:1")
    with only("eager"):
        expected = rmsnorm(x)
    torch.testing.assert_close(rmsnorm(x), expected)


@pytest.mark.parametrize("example", ["rmsnorm.py", "swiglu_mlp.py", "attention_block.py"])
def test_a_job_times_the_fused_rungs(example: str) -> None:
    file = ROOT / "examples" / example
    done = subprocess.run(
        [sys.executable, "-m", "hipward_kernels.harness", str(file), "--device", "cuda:0", "--time-cap", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    environment = lines[0]
    assert environment["clock"] == "device events"
    assert environment["cache"].startswith("cold (")
    sampled = {line["variant"] for line in lines if line["type"] == "sampled"}
    more = {
        "rmsnorm.py": {"model-new"},
        "swiglu_mlp.py": {"fused-projections", "model-new"},
        "attention_block.py": {"attention-routing", "fused-projections"},
    }
    assert sampled == {"eager", "eager-control", "compile", "fused-ops"} | more[example], lines
    assert lines[-1] == {"type": "finished"}
