"""All versions side by side, with a check that each trains the same model.

`… compare_versions --models v1,v2,v3,v4 --size medium --use-amp`, or from saved results:
`… compare_versions --v1 profiles/v1 --v2 profiles/v2`. A version that leaves parts of the model untrained is fast
and small for the wrong reason. The table therefore also lists parameters without a gradient, the distance of the loss
curve from V1's, and forward, backward and optimizer separately. It compares each step with the least time that the
function needs, computed from rates that are measured first (`cost.py`, `ceilings.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hipward_kernels.models.config import VERSIONS
from hipward_kernels.models.cost import Floor, floor, training_step
from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.models.training import matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.ceilings import measured
from hipward_kernels.workshop.fusion_ablation_study import LOSS_TOLERANCE
from hipward_kernels.workshop.measuring import measure, prepare
from hipward_kernels.workshop.profiling import load as load_profile
from hipward_kernels.workshop.profiling import profiled
from hipward_kernels.workshop.records import Record, append, conditions, load, results_file, row, rows_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor

    from hipward_kernels.workshop.measuring import Training
    from hipward_kernels.workshop.options import Subject
    from hipward_kernels.workshop.profiling import Profile
    from hipward_kernels.workshop.records import Row


@dataclass(frozen=True)
class Compared:
    """The results of one version."""

    record: Record
    profile: Profile | None
    """None for a saved result without a profile."""
    floor: Floor | None = None
    """The least time of its step on this device; None for a saved result."""

    def loss_gap(self, first: Compared) -> float:
        """Largest relative difference of a loss from the first version's, at the same step."""
        pairs = zip(self.record.training.losses, first.record.training.losses, strict=False)
        gap = max(abs(a - b) / abs(b) for a, b in pairs)
        return gap if math.isfinite(gap) else math.inf

    def trains_like(self, first: Compared) -> bool:
        """Whether every parameter is trained and the losses agree."""
        tolerance = LOSS_TOLERANCE[self.record.subject.precision]
        return not self.record.training.without_gradient and self.loss_gap(first) <= tolerance

    @property
    def of_roofline(self) -> float | None:
        """The roofline's time divided by the step's; 1 is the roofline."""
        return None if self.floor is None else self.floor.overlapped_ms / self.record.training.step_ms.median


def run(subjects: Sequence[Subject], device: torch.device, steps: int, seed: int) -> Iterator[Compared]:
    """Trains each version from the same weights on the same data."""
    torch.manual_seed(seed)
    first = subjects[0]
    weights = TinyLlama(first.config, VERSIONS["v1"]).state_dict()
    here = conditions(device)
    ceilings = measured(device, first.precision)
    cost = training_step(first.config, first.batch_size, first.sequence_length, first.itemsize)
    least = floor(cost, ceilings.flops_per_second, ceilings.bytes_per_second)
    for subject in subjects:
        training, profile = train_and_profile(subject, weights, device, steps, seed)
        yield Compared(Record(subject, training, here), profile, least)


def run_selected(options: argparse.Namespace) -> Iterator[Compared]:
    """Runs what the command line selects."""
    device = common.device(options)
    subjects = [common.subject(options, name) for name in options.models]
    with matmul_precision(subjects[0].precision):
        yield from run(subjects, device, options.num_steps, options.seed)


def train_and_profile(
    subject: Subject, weights: Mapping[str, Tensor], device: torch.device, steps: int, seed: int
) -> tuple[Training, Profile]:
    """Measures one version and frees its memory."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    runner = prepare(subject, device, weights, seed)
    training = measure(runner, device, steps)
    return training, profiled(partial(runner.step, next(runner.data)), subject.version, device)


def saved_result(path: Path) -> Compared:
    """Loads a directory of `run_pytorch_profiler` or a file of metrics; ends the program if it is neither."""
    try:
        return Compared(load(path), load_profile(path) if (path / "kernels.json").exists() else None)
    except ValueError as error:
        raise SystemExit(str(error)) from error


def report(compared: Sequence[Compared]) -> str:
    """The report as text."""
    first = compared[0]
    rows = []
    for one in compared:
        training = one.record.training
        memory = training.saved_mib if training.peak_memory_mib is None else training.peak_memory_mib
        split = training.split
        rows.append(
            [
                one.record.subject.version,
                f"{training.step_ms.median:.3f}",
                f"{first.record.training.step_ms.median / training.step_ms.median:.2f}",
                f"{training.tokens_per_second:.0f}",
                f"{split.forward_ms:.2f} / {split.backward_ms:.2f} / {split.optimizer_ms:.2f}",
                f"{memory:.0f}",
                "" if one.of_roofline is None else f"{one.of_roofline:.0%}",
                "" if one.profile is None else f"{one.profile.calls:g}",
                str(len(training.without_gradient)),
                f"{training.losses[-1]:.4f}",
                f"{one.loss_gap(first):.1e}",
            ]
        )
    header = ["version", "step ms", "×", "tokens/s", "fwd / bwd / opt ms"]
    header += ["saved MiB" if first.record.training.peak_memory_mib is None else "peak MiB"]
    unit = "kernels" if first.profile is None else first.profile.unit
    header += ["roofline", unit, "no grad", "last loss", "loss gap"]
    subject, here = first.record.subject, first.record.conditions
    title = (
        f"{subject.size}, batch {subject.batch_size}, length {subject.sequence_length}, {subject.precision}; "
        f"{here['device_name']}, PyTorch {here['torch']}, Triton {here['triton']}"
    )
    notes = [
        f"{one.record.subject.version}: {one.record.training.note}" for one in compared if one.record.training.note
    ]
    if first.floor is not None:
        bound = "arithmetic" if first.floor.compute_ms > first.floor.memory_ms else "memory"
        notes.append(f"roofline: {first.floor.overlapped_ms:.3f} ms, by {bound}; the column is its share of the step")
    return "\n\n".join([title, common.table(header, rows), *notes])


def results(one: Compared, first: Compared) -> list[Row]:
    """Rows for the CSV: one version compared with the first."""
    record = one.record
    speedup = first.record.training.step_ms.median / record.training.step_ms.median
    figures = [("speed-up", "×", speedup), ("largest loss gap", "relative", one.loss_gap(first))]
    if one.floor is not None and one.of_roofline is not None:
        figures.append(("roofline", "ms", one.floor.overlapped_ms))
        figures.append(("roofline over step", "share", one.of_roofline))
    if one.profile is not None:
        figures.append((one.profile.unit, "a step", one.profile.calls))
        figures.append(("busy", "ms", one.profile.ms))
        if one.profile.launches is not None:
            figures.append(("launches", "a step", one.profile.launches))
    rows = rows_of("compare-versions", record)
    return rows + [row("compare-versions", record.subject, *figure, record.conditions) for figure in figures]


def main(arguments: Sequence[str] | None = None) -> list[Compared]:
    """Entry point."""
    parser = common.parser("compare_versions", "Compares versions, and checks that they train alike.")
    common.add_switches(parser)
    parser.add_argument(
        "--models", type=common.versions, default="v1,v2,v3,v4", help="versions; the first is the baseline"
    )
    for name in VERSIONS:
        parser.add_argument(f"--{name}", type=Path, help=f"saved result of {name}, instead of running it")
    parser.add_argument("--num-steps", type=common.positive, default=30, help="training steps per version")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    saved = [path for name in VERSIONS if (path := getattr(options, name)) is not None]
    compared: list[Compared] = []
    for one in map(saved_result, saved) if saved else run_selected(options):
        compared.append(one)
        # Printed immediately, so that an interrupted comparison has reported its results so far.
        print(f"{one.record.subject.version}: {one.record.training.step_ms.median:.3f} ms", flush=True)
        if options.results is not None:
            append(options.results, results(one, compared[0]))
    print(report(compared))
    if unlike := [one.record.subject.version for one in compared if not one.trains_like(compared[0])]:
        raise SystemExit(f"{', '.join(unlike)}: does not train like {compared[0].record.subject.version}")
    return compared


if __name__ == "__main__":
    main()
