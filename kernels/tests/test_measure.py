"""The scripts of a porting project, on the CPU: latency, training, two processes, precision, and benchmark.md."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hipward_kernels.harness import contract
from hipward_kernels.measure.benchmark_inference import Latency, inference
from hipward_kernels.measure.benchmark_training import Training, training
from hipward_kernels.measure.clock import percentile
from hipward_kernels.measure.tables import Conditions, Step, baseline, progression
from hipward_kernels.measure.verify_precision import verify_precision

ROOT = Path(__file__).parent.parent
CPU = torch.device("cpu")
EXAMPLE = ROOT / "examples" / "swiglu_mlp.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        # Against a hang, on hosts that are busy with other things too.
        timeout=1200,
    )


def test_percentiles_are_interpolated() -> None:
    assert percentile([15, 20, 35, 40, 50], 0.4) == pytest.approx(29.0)
    assert percentile([3.0], 0.95) == 3.0


def test_latency_is_measured_for_single_calls() -> None:
    calls = []

    def model(x: Tensor) -> Tensor:
        calls.append(torch.is_grad_enabled())
        return x + 1

    latency = inference(model, [torch.ones(8)], CPU, warmup=3, iterations=20)
    assert calls == [False] * 23
    assert 0 < latency.p50_ms <= latency.p95_ms
    assert latency.calls_per_second == pytest.approx(1e3 / latency.mean_ms)
    assert latency.peak_memory_bytes > 2**20


def test_training_is_split_and_the_model_learns() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    measured = training(model, [torch.randn(16, 32)], CPU, optimizer=optimizer, warmup=2, iterations=10)
    assert len(measured.losses) == 12
    assert measured.losses[-1] < measured.losses[0]
    assert measured.without_gradient == []
    parts = measured.forward_ms, measured.backward_ms, measured.optimizer_ms
    assert all(part > 0 for part in parts)
    assert measured.samples_per_second == pytest.approx(16 / measured.step_ms * 1e3)


class CutGraph(nn.Module):
    """The mistake of a kernel without a backward: its result is a new tensor that nothing leads back from."""

    def __init__(self) -> None:
        super().__init__()
        self.below, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.below(x).detach())  # type: ignore[no-any-return]


def test_parameters_without_gradient_are_named() -> None:
    measured = training(CutGraph(), [torch.randn(2, 4)], CPU, warmup=0, iterations=2)
    assert measured.without_gradient == ["below.weight", "below.bias"]


@pytest.mark.parametrize(
    ("optimized", "guides", "float64"),
    [
        (lambda model: model, None, None),
        # A tenth too large: the cosine does not see it, float64 does.
        (lambda model: lambda x: 1.1 * model(x), None, "is too far from the reference"),
        (lambda model: lambda x: -model(x), "the cosine similarity", "is too far from the reference"),
        (lambda model: lambda x: model(x) + 2, "the cosine similarity|the largest difference", "too far"),
        (lambda model: lambda x: model(x) / 0 * 0, "NaN", "NaN"),
    ],
)
def test_both_precision_limits_are_reported(
    tmp_path: Path, optimized: object, guides: str | None, float64: str | None
) -> None:
    import re

    snippet = contract.load(EXAMPLE.read_text(), tmp_path, CPU)
    found = verify_precision(optimized(snippet.build("Model")), snippet)  # type: ignore[operator]
    assert found.passed == (guides is None and float64 is None)
    # NaN is no difference of 0.
    assert (found.max_difference == math.inf) == found.has_nan == math.isnan(found.cosine)
    for reason, says in ((found.guides_reason, guides), (found.float64_reason, float64)):
        assert (reason is None) == (says is None), reason
        assert says is None or re.search(says, str(reason))


CONDITIONS = Conditions("AMD Instinct MI300X (gfx942)", "PyTorch 2.15.0, HIP 7.1", "2026-11-21")


def latency(ms: float, spread: float = 0.01) -> Latency:
    return Latency(ms, spread * ms, ms, 1.1 * ms, 1e3 / ms, 3_500_000_000, 30)


def test_tables_match_benchmark_md() -> None:
    trained = Training(30.0, 10.0, 18.0, 2.0, 533.3, 9_000_000_000, [1.0, 0.9], [])
    text = baseline(CONDITIONS, latency(12.5), trained)
    for line in (
        "| Inference latency (P50) | 12.500 ms |",
        "| Throughput | 80.0 Hz |",
        "| Peak memory | 3.50 GB |",
        "| Forward, backward, optimizer | 10.000 ms, 18.000 ms, 2.000 ms |",
        "Hardware: AMD Instinct MI300X (gfx942)",
        "Date: 2026-11-21",
    ):
        assert line in text
    text = progression(
        CONDITIONS,
        [
            Step("Eager baseline", latency(12.0)),
            Step("+ torch.compile", latency(6.0, spread=0.2)),
            Step("+ Fused ops", None, "Triton needs a GPU."),
        ],
    )
    assert "| Eager baseline | 12.000 ms | 13.200 ms | 1.00x | 3.50 GB |" in text
    assert "| + torch.compile | 6.000 ms (unsteady) | 6.600 ms | 2.00x | 3.50 GB |" in text
    assert "| + Fused ops | - | - | - | Triton needs a GPU. |" in text


def test_two_processes_train_together() -> None:
    done = run(
        *("torch.distributed.run", "--nproc_per_node=2", "-m", "hipward_kernels.measure.benchmark_ddp", str(EXAMPLE)),
        *("--device", "cpu", "--warmup", "1", "--iterations", "3"),
    )
    assert done.returncode == 0, done.stderr
    scaling = json.loads(done.stdout)
    assert (scaling["processes"], scaling["backend"], scaling["parameters_agree"]) == (2, "gloo", True)
    expected = scaling["together_samples_per_second"] / (2 * scaling["alone_samples_per_second"])
    assert scaling["efficiency"] == pytest.approx(expected)


def test_scripts_end_with_a_message_if_they_cannot_continue(tmp_path: Path) -> None:
    alone = run("hipward_kernels.measure.benchmark_ddp", str(EXAMPLE))
    assert (alone.returncode, "Start it with torchrun" in alone.stderr) == (2, True)
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\n")
    done = run("hipward_kernels.measure.benchmark_inference", str(broken), "--device", "cpu")
    assert done.returncode == 1
    assert "has no Model" in done.stderr


@pytest.mark.parametrize(
    ("script", "given", "says"),
    [
        (".benchmark_inference", ["--iterations", "1"], "1 is no whole number from 2 on"),
        (".benchmark_inference", ["--warmup", "-1"], "-1 is no whole number from 0 on"),
        (".benchmark_training", ["--iterations", "0"], "0 is no whole number from 1 on"),
        (".benchmark_ddp", ["--iterations", "many"], "many is no whole number from 1 on"),
        ("", ["--iterations", "0"], "0 is no whole number from 2 on"),
    ],
)
def test_too_few_iterations_are_rejected(script: str, given: list[str], says: str) -> None:
    done = run(f"hipward_kernels.measure{script}", str(EXAMPLE), "--device", "cpu", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_benchmark_md_is_written() -> None:
    done = run("hipward_kernels.measure", str(EXAMPLE), "--device", "cpu", "--iterations", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## Baseline (eager PyTorch)")
    assert "| Eager baseline | " in done.stdout
    assert "| + torch.compile | " in done.stdout
    assert "| + Fused ops | - | - | - | Triton needs a GPU; this job runs on the CPU. |" in done.stdout
    assert done.stdout.count("PyTorch " + torch.__version__) == 2
