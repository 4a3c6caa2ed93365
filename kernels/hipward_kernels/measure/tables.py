"""The tables of `benchmark.md` in Markdown: the baseline, and each optimization step in addition to the previous ones.

Every table includes its conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.measure.benchmark_inference import Latency
    from hipward_kernels.measure.benchmark_training import Training


@dataclass(frozen=True)
class Conditions:
    """Conditions of a measurement."""

    device: str
    software: str
    """`PyTorch 2.15.0, HIP 7.1`"""
    date: str

    def in_words(self) -> str:
        """The conditions in Markdown."""
        return f"Hardware: {self.device}  \nSoftware: {self.software}  \nDate: {self.date}"


@dataclass(frozen=True)
class Step:
    """A row of the progression."""

    name: str
    latency: Latency | None
    """None if it could not run."""
    note: str = ""
    """Why it could not run, or a remark."""


def baseline(conditions: Conditions, latency: Latency, training: Training | None = None) -> str:
    """The table before any optimization."""
    rows = [
        ("Inference latency (P50)", f"{latency.p50_ms:.3f} ms"),
        ("Inference latency (P95)", f"{latency.p95_ms:.3f} ms"),
        ("Throughput", f"{latency.calls_per_second:.1f} Hz"),
        ("Peak memory", _gigabytes(latency.peak_memory_bytes)),
    ]
    if training:
        parts = (training.forward_ms, training.backward_ms, training.optimizer_ms)
        rows += [
            ("Training samples/sec", f"{training.samples_per_second:.1f}"),
            ("Training step", f"{training.step_ms:.3f} ms"),
            ("Forward, backward, optimizer", ", ".join(f"{ms:.3f} ms" for ms in parts)),
            ("Training peak memory", _gigabytes(training.peak_memory_bytes)),
        ]
    lines = ["## Baseline (eager PyTorch)", "", "| Metric | Value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows]
    return "\n".join([*lines, "", conditions.in_words(), ""])


def progression(conditions: Conditions, steps: Sequence[Step]) -> str:
    """The table of steps, each in addition to the previous ones; the first is the baseline."""
    first = steps[0].latency
    lines = [
        "## Results: optimization progression",
        "",
        "| Configuration | Latency (P50) | Latency (P95) | vs Baseline | Memory |",
        "|---|---:|---:|---:|---:|",
    ]
    for step in steps:
        if step.latency is None or first is None:
            lines.append(f"| {step.name} | - | - | - | {step.note} |")
            continue
        cells = (
            step.name,
            f"{step.latency.p50_ms:.3f} ms{' (unsteady)' if step.latency.unsteady else ''}",
            f"{step.latency.p95_ms:.3f} ms",
            f"{first.p50_ms / step.latency.p50_ms:.2f}x",
            _gigabytes(step.latency.peak_memory_bytes),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", conditions.in_words(), ""])


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
