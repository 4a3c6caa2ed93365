"""Bytes that the operators of a training step move: `… memory_bandwidth_analyzer --version v1 --size small`.

Records PyTorch's operators while a step runs: each operator that does more than describe or allocate memory reads its
inputs and writes its outputs. A hand-written kernel that is not registered with PyTorch is not heard, so what a version
with kernels moves is a lower bound; and a compiled layer is not looked into, so `compile` and `graphs` are switched
off. The rate is all bytes over the measured time of the same, uncompiled step.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hipward_kernels.models.cost import training_step
from hipward_kernels.models.data import batches
from hipward_kernels.models.training import matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.ceilings import Ceilings, measured
from hipward_kernels.workshop.measuring import measure, prepare
from hipward_kernels.workshop.profiling import does_work
from hipward_kernels.workshop.roofline import Point, plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.options import Subject

SHOWN = 15


class Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the calls and bytes of each operator."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operator and counts it."""
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if does_work(f"aten::{name}"):
            self.calls[name] += 1
            self.bytes[name] += sum(
                leaf.nbytes for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)
            )
        return result


@dataclass(frozen=True)
class Analysis:
    """A step's traffic."""

    version: str
    calls: dict[str, int]
    bytes: dict[str, int]
    needed_bytes: float
    """The minimum by `models.cost`, with the fusions of V4."""
    step_ms: float
    ceilings: Ceilings

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return sum(self.bytes.values()) / (self.step_ms * 1e-3)


def analyze(subject: Subject, device: torch.device, steps: int, seed: int) -> Analysis:
    """Counts a step's traffic, then times steps without counting."""
    runner = prepare(subject, device, seed=seed)
    step_ms = measure(runner, device, steps).step_ms.median
    batch = next(batches(subject.config, subject.batch_size, subject.sequence_length, device, seed))
    with Traffic() as traffic:
        runner.trainer.step(batch)
    cost = training_step(subject.config, subject.batch_size, subject.sequence_length, subject.itemsize)
    ceilings = measured(device, subject.precision)
    return Analysis(subject.version, dict(traffic.calls), dict(traffic.bytes), cost.bytes, step_ms, ceilings)


def report(found: Analysis) -> str:
    """The report as text."""
    total = sum(found.bytes.values())
    rows = [
        [name, str(found.calls[name]), f"{moved / 1e6:.2f}", f"{moved / total:.1%}"]
        for name, moved in sorted(found.bytes.items(), key=lambda item: -item[1])[:SHOWN]
    ]
    moved = f"{total / 1e9:.3f} GB a step, {total / found.needed_bytes:.1f} times the {found.needed_bytes / 1e9:.3f} GB"
    copy = found.ceilings.bytes_per_second
    reached = f"{found.rate / 1e9:.1f} GB/s, {found.rate / copy:.1%} of a copy's {copy / 1e9:.1f} GB/s"
    return (
        f"{found.version}: operators move {moved} that are needed\n"
        f"in {found.step_ms:.3f} ms: {reached}\n\n" + common.table(["operator", "calls", "MB", "share"], rows)
    )


def main(arguments: Sequence[str] | None = None) -> Analysis:
    """Entry point."""
    parser = common.parser("memory_bandwidth_analyzer", "Bytes that the operators of a training step move.")
    common.add_switches(parser)
    parser.add_argument("--version", type=common.version_of, default="v1", help="v1, v2, v3, v4")
    parser.add_argument("--num-steps", type=common.positive, default=8, help="timed training steps")
    parser.add_argument("--profile-data", type=Path, help="directory for bandwidth.json, and roofline.svg")
    parser.add_argument("--generate-roofline-plot", action="store_true", help="draw roofline.svg there")
    options = parser.parse_args(arguments)
    if options.generate_roofline_plot and options.profile_data is None:
        parser.error("--profile-data is needed: it says where the plot goes")
    options.off = [*(options.off or ()), "compile", "graphs"]
    device = common.device(options)
    subject = common.subject(options, options.version)
    with matmul_precision(subject.precision):
        found = analyze(subject, device, options.num_steps, options.seed)
    print(report(found))
    if options.profile_data is not None:
        options.profile_data.mkdir(parents=True, exist_ok=True)
        (options.profile_data / "bandwidth.json").write_text(json.dumps(asdict(found), indent=1), encoding="utf-8")
        if options.generate_roofline_plot:
            cost = training_step(subject.config, subject.batch_size, subject.sequence_length, subject.itemsize)
            rate = cost.flops / (found.step_ms * 1e-3)
            point = Point(found.version, cost.flops / sum(found.bytes.values()), rate)
            drawing = plot(f"{subject.size}, {subject.precision}, bytes as counted", found.ceilings, [point])
            (options.profile_data / "roofline.svg").write_text(drawing, encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
