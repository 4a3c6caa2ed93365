"""What only a GPU can show: the Triton kernels in each dtype and under torch.compile, and a job's fused rungs.

For AMD and NVIDIA alike; skipped where there is no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor

from hipward_kernels.ops import rmsnorm, silu_mul
from hipward_kernels.ops.rmsnorm import OP as RMSNORM
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.registry import disabled

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

ROOT = Path(__file__).parent.parent
TOLERANCE = {torch.float32: 3e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
SHAPES = [(1, 1), (7, 33), (3, 5, 1000), (300, 4096), (33, 16384), (9, 32768), (5, 65536), (3, 70001), (0, 8)]


def value_and_gradients(op: Callable[..., Tensor], *arguments: Tensor) -> list[Tensor]:
    """The result of `op`, then the gradient of a fixed weighting of it for each argument."""
    leaves = [argument.detach().clone().requires_grad_() for argument in arguments]
    result = op(*leaves)
    generator = torch.Generator("cuda").manual_seed(1)
    dy = torch.randn(result.shape, generator=generator, device="cuda").to(result.dtype)
    return [result.detach(), *torch.autograd.grad(result, leaves, dy)]


def agree(op: Callable[..., Tensor], other: Callable[..., Tensor], *arguments: Tensor) -> None:
    """Both must give the same, up to rounding relative to the largest value."""
    wanted = value_and_gradients(other, *(a.float() for a in arguments))
    for got, expected in zip(value_and_gradients(op, *arguments), wanted, strict=True):
        scale = float(expected.abs().max()) if expected.numel() else 1.0
        torch.testing.assert_close(got.float(), expected, rtol=0, atol=TOLERANCE[got.dtype] * max(scale, 1e-3))


def eagerly(op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(*arguments: Tensor) -> Tensor:
        with disabled("triton"):
            return op(*arguments)

    return call


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernels_agree_with_eager(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = (torch.randn(shape, device="cuda").to(dtype) for _ in range(2))
    weight = torch.randn(shape[-1], device="cuda").to(dtype)
    assert RMSNORM.refusals(x)["triton"] is None
    assert SILU_MUL.refusals(x)["triton"] is None
    agree(rmsnorm, eagerly(rmsnorm), x, weight)
    agree(silu_mul, eagerly(silu_mul), x, y)


def test_float64_runs_in_eager() -> None:
    x = torch.randn(4, 8, dtype=torch.float64, device="cuda")
    assert RMSNORM.function(x).__module__.endswith(".eager")
    assert rmsnorm(x).dtype == torch.float64


def test_torch_compile_takes_the_kernels_in_one_graph_with_their_gradients() -> None:
    def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
        return silu_mul(rmsnorm(x, weight), up) * 2

    x, up = (torch.randn(64, 1024, device="cuda") for _ in range(2))
    weight = torch.randn(1024, device="cuda")
    agree(torch.compile(block, fullgraph=True), eagerly(block), x, weight, up)


def test_halves_of_one_product_are_taken_as_views() -> None:
    gate, up = torch.randn(128, 2048, device="cuda", dtype=torch.bfloat16).chunk(2, -1)
    agree(silu_mul, eagerly(silu_mul), gate, up)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_on_a_device_that_is_not_current() -> None:
    x = torch.randn(64, 1024, device="cuda:1")
    torch.testing.assert_close(rmsnorm(x), eagerly(rmsnorm)(x))


@pytest.mark.parametrize("example", ["rmsnorm.py", "swiglu_mlp.py"])
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
    projections = {"fused-projections"} if example == "swiglu_mlp.py" else set()
    assert sampled == {"eager", "eager-control", "compile", "fused-ops", "model-new"} | projections, lines
    assert lines[-1] == {"type": "finished"}
