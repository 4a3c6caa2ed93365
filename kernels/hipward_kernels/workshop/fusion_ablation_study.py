"""Measures the effect of each switch: `python -m hipward_kernels.workshop.fusion_ablation_study --all-combinations`.

Each combination must first train to the same losses as V1 from the same weights; then its steps are timed. V1 is timed
first and last, and the difference between the two is printed: what is smaller than that is noise.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from hipward_kernels.models.config import SWITCHES, VERSIONS, Switches
from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.models.training import matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import trained
from hipward_kernels.workshop.options import FUSIONS, Subject
from hipward_kernels.workshop.records import Record, append, conditions, results_file, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hipward_kernels.models.training import Precision

LOSS_TOLERANCE: Mapping[Precision, float] = {"float32": 1e-4, "tf32": 2e-3, "bfloat16": 2e-2}
"""Largest relative difference of a loss from V1's over a study's steps: a few rounding steps of the format, grown by
training. A missing part or gradient causes a much larger difference."""


@dataclass(frozen=True)
class Outcome:
    """The result of one combination of switches."""

    record: Record
    loss_gap: float
    """Largest relative difference of a loss from V1's."""


def combinations(switches: Sequence[str], *, all_of_them: bool) -> list[Switches]:
    """The combinations to measure, each once and `none` first; impossible ones are left out.

    Args:
        switches: Names of the switches that are studied.
        all_of_them: All `2**n`; otherwise none, each on its own, all but each, and all.
    """
    n = len(switches)
    sizes = range(n + 1) if all_of_them else sorted({0, 1, n - 1, n} & set(range(n + 1)))
    found = []
    for size in sizes:
        for chosen in itertools.combinations(switches, size):
            with suppress(ValueError):
                found.append(Switches().with_(on=chosen))
    return found


def study(subject: Subject, sets: Sequence[Switches], device: torch.device, steps: int, seed: int) -> Iterator[Outcome]:
    """Measures each set of switches on the same weights and data, then the first set again."""
    torch.manual_seed(seed)
    weights = TinyLlama(subject.config, VERSIONS["v1"]).state_dict()
    here = conditions(device)
    first: list[float] = []
    for switches in [*sets, sets[0]]:
        torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
        one = Subject(
            str(switches), switches, subject.size, subject.batch_size, subject.sequence_length, subject.precision
        )
        training = trained(one, device, steps, weights, seed)
        first = first or training.losses
        gap = max(abs(a - b) / abs(b) for a, b in zip(training.losses, first, strict=True))
        yield Outcome(Record(one, training, here), gap if math.isfinite(gap) else math.inf)


def report(outcomes: Sequence[Outcome], precision: Precision) -> str:
    """The report as text; the last outcome is the control of the first."""
    *studied, control = outcomes
    baseline = studied[0].record.training.step_ms.median
    rows = []
    for outcome in studied:
        training = outcome.record.training
        memory = training.saved_mib if training.peak_memory_mib is None else training.peak_memory_mib
        right = outcome.loss_gap <= LOSS_TOLERANCE[precision] and not training.without_gradient
        rows.append(
            [
                str(outcome.record.subject.switches),
                f"{training.step_ms.median:.3f}",
                f"{baseline / training.step_ms.median:.2f}",
                f"{memory:.1f}",
                f"{outcome.loss_gap:.1e}",
                "yes" if right else "NO",
            ]
        )
    memory_name = "saved MiB" if control.record.training.peak_memory_mib is None else "peak MiB"
    noise = abs(control.record.training.step_ms.median / baseline - 1)
    header = ["switches", "step ms", "× none", memory_name, "loss gap", "trains alike"]
    return f"{common.table(header, rows)}\n\nnone, measured again at the end: {noise:.1%} apart"


def main(arguments: Sequence[str] | None = None) -> list[Outcome]:
    """Entry point."""
    parser = common.parser("fusion_ablation_study", "Measures what each switch is worth.")
    parser.add_argument("--switches", default=",".join(FUSIONS.values()), help="those that are studied, with commas")
    parser.add_argument("--all-combinations", action="store_true", help="all 2**n instead of each alone and all but it")
    parser.add_argument("--num-steps", type=common.positive, default=15, help="timed training steps of each")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    switches = options.switches.split(",")
    if unknown := [name for name in switches if name not in SWITCHES]:
        parser.error(f"no such switches: {', '.join(unknown)}; there are {', '.join(SWITCHES)}")
    subject = common.subject(options, "v1")
    device = common.device(options)
    with matmul_precision(subject.precision):
        sets = combinations(switches, all_of_them=options.all_combinations)
        outcomes = []
        for outcome in study(subject, sets, device, options.num_steps, options.seed):
            outcomes.append(outcome)
            # Printed immediately, so that an interrupted study has reported its results so far.
            print(f"{outcome.record.subject.version}: {outcome.record.training.step_ms.median:.3f} ms", flush=True)
            if options.results is not None:
                append(options.results, rows_of("ablation", outcome.record))
    print(report(outcomes, subject.precision))
    if any(o.loss_gap > LOSS_TOLERANCE[subject.precision] or o.record.training.without_gradient for o in outcomes):
        raise SystemExit("a combination does not train like V1: see the last column")
    return outcomes


if __name__ == "__main__":
    main()
