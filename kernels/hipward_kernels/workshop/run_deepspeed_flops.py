"""Floating-point operations, bytes and the roofline of a training step.

`… run_deepspeed_flops --batch-size 8 --seq-len 256 --computational-intensity --generate-roofline`. The name is the
document's; DeepSpeed is not needed. Operations are counted twice: by formula, and by PyTorch's `FlopCounterMode` over
the operators that V1 runs. The counts differ because V1 computes the scores of future tokens
and then masks them, and the formula leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.utils.flop_counter import FlopCounterMode

from hipward_kernels.models.config import Switches
from hipward_kernels.models.cost import Cost, Floor, floor, training_step
from hipward_kernels.models.training import build, matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.ceilings import Ceilings, measured
from hipward_kernels.workshop.measuring import trained
from hipward_kernels.workshop.records import append, conditions, results_file, row
from hipward_kernels.workshop.roofline import Point, plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.options import Subject


@dataclass(frozen=True)
class Analysis:
    """A step compared with its minimum cost."""

    cost: Cost
    counted_flops: int
    ceilings: Ceilings
    floor: Floor
    step_ms: float

    @property
    def flops_per_second(self) -> float:
        """The operations that the function needs divided by the measured time."""
        return self.cost.flops / (self.step_ms * 1e-3)

    @property
    def of_overlapped(self) -> float:
        """The roofline's time divided by the step's; 1 is the roofline."""
        return self.floor.overlapped_ms / self.step_ms

    @property
    def of_serial(self) -> float:
        """The same if arithmetic and traffic do not overlap."""
        return self.floor.serial_ms / self.step_ms


def counted_flops(subject: Subject) -> int:
    """The operations of an eager V1 step, counted on tensors without memory."""
    meta = torch.device("meta")
    trainer = build(subject.config, Switches(), meta)
    tokens = torch.empty(subject.batch_size, subject.sequence_length, dtype=torch.int64, device=meta)
    with FlopCounterMode(display=False) as counter:
        trainer.model(tokens, tokens).backward()
    return int(counter.get_total_flops())


def analyze(subject: Subject, device: torch.device, steps: int, seed: int) -> Analysis:
    """Measures the ceilings and a step."""
    cost = training_step(subject.config, subject.batch_size, subject.sequence_length, subject.itemsize)
    ceilings = measured(device, subject.precision)
    training = trained(subject, device, steps, seed=seed)
    return Analysis(
        cost,
        counted_flops(subject),
        ceilings,
        floor(cost, ceilings.flops_per_second, ceilings.bytes_per_second),
        training.step_ms.median,
    )


def report(subject: Subject, found: Analysis, *, intensity: bool) -> str:
    """The report as text."""
    cost, ceilings = found.cost, found.ceilings
    rows = [
        ["matrix products", f"{cost.matmul_flops / 1e9:.3f} GFLOP"],
        ["attention, causal", f"{cost.attention_flops / 1e9:.3f} GFLOP"],
        ["operators of V1, counted", f"{found.counted_flops / 1e9:.3f} GFLOP"],
        ["activations", f"{cost.elementwise_bytes / 1e9:.3f} GB"],
        ["weights and moments", f"{cost.weight_bytes / 1e9:.3f} GB"],
        ["measured product", f"{ceilings.flops_per_second / 1e12:.3f} TFLOP/s"],
        ["measured copy", f"{ceilings.bytes_per_second / 1e9:.1f} GB/s"],
        ["step", f"{found.step_ms:.3f} ms"],
        ["reached", f"{found.flops_per_second / 1e12:.3f} TFLOP/s"],
        ["roofline", f"{found.floor.overlapped_ms:.3f} ms, {found.of_overlapped:.1%} of the step"],
        ["arithmetic, then traffic", f"{found.floor.serial_ms:.3f} ms, {found.of_serial:.1%} of the step"],
    ]
    if intensity:
        ridge = ceilings.flops_per_second / ceilings.bytes_per_second
        bound = "arithmetic" if cost.intensity > ridge else "memory"
        rows.append(["intensity", f"{cost.intensity:.1f} FLOP/byte, ridge {ridge:.1f}: bound by {bound}"])
    title = f"{subject.version}, {subject.size}, batch {subject.batch_size}, length {subject.sequence_length}"
    return f"{title}, {subject.precision}\n\n{common.table(['a training step', ''], rows)}"


def main(arguments: Sequence[str] | None = None) -> Analysis:
    """Entry point."""
    parser = common.parser("run_deepspeed_flops", "Operations, bytes and the roofline of a training step.")
    common.add_switches(parser)
    parser.add_argument("--version", type=common.version_of, default="v2", help="v1, v2, v3, v4")
    parser.add_argument("--num-steps", type=common.positive, default=10, help="timed training steps")
    parser.add_argument("--computational-intensity", action="store_true", help="also print operations per byte")
    parser.add_argument("--generate-roofline", action="store_true", help="draw roofline.svg into --output-dir")
    parser.add_argument("--output-dir", type=common.directory, default=Path(), help="for roofline.svg")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    device = common.device(options)
    subject = common.subject(options, options.version)
    with matmul_precision(subject.precision):
        found = analyze(subject, device, options.num_steps, options.seed)
    print(report(subject, found, intensity=options.computational_intensity))
    here = conditions(device)
    if options.generate_roofline:
        options.output_dir.mkdir(parents=True, exist_ok=True)
        point = Point(f"{subject.version} {subject.size}", found.cost.intensity, found.flops_per_second)
        title = f"{here['device_name']}, {subject.precision}, PyTorch {here['torch']}"
        (options.output_dir / "roofline.svg").write_text(plot(title, found.ceilings, [point]), encoding="utf-8")
    if options.results is not None:
        figures = [
            ("measured matrix product", "TFLOP/s", found.ceilings.flops_per_second / 1e12),
            ("measured copy", "GB/s", found.ceilings.bytes_per_second / 1e9),
            ("needed operations", "TFLOP", found.cost.flops / 1e12),
            ("needed bytes", "GB", found.cost.bytes / 1e9),
            ("roofline", "ms", found.floor.overlapped_ms),
            ("roofline over step", "share", found.of_overlapped),
            ("arithmetic then traffic", "ms", found.floor.serial_ms),
            ("arithmetic then traffic over step", "share", found.of_serial),
            ("step", "ms", found.step_ms),
        ]
        append(options.results, [row("roofline", subject, *figure, here) for figure in figures])
    return found


if __name__ == "__main__":
    main()
