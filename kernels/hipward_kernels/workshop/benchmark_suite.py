"""Versions × batch sizes × lengths: `… benchmark_suite --models v1,v2 --batch-sizes 4,8 --seq-lengths 128,256`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.models.config import VERSIONS
from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import trained
from hipward_kernels.workshop.records import Record, append, conditions, results_file, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS = ("throughput", "memory", "accuracy")


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Entry point."""
    parser = common.parser("benchmark_suite", "Measures versions over batch sizes and lengths.")
    common.add_switches(parser)
    parser.add_argument(
        "--models", type=common.versions, default="v1,v2,v3,v4", help="versions; the first is the baseline"
    )
    parser.add_argument("--batch-sizes", type=common.numbers, help="with commas; default: --batch-size")
    parser.add_argument("--seq-lengths", type=common.numbers, help="with commas; default: --seq-len")
    parser.add_argument("--metrics", default=",".join(METRICS), help="columns, with commas")
    parser.add_argument("--num-steps", type=common.positive, default=15, help="timed training steps per version")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    metrics = options.metrics.split(",")
    if unknown := [name for name in metrics if name not in METRICS]:
        parser.error(f"unknown metrics: {', '.join(unknown)}; known are {', '.join(METRICS)}")
    device = common.device(options)
    here = conditions(device)
    records = []
    for batch_size in options.batch_sizes or [options.batch_size]:
        for length in options.seq_lengths or [options.seq_len]:
            options.batch_size, options.seq_len = batch_size, length
            group: list[Record] = []
            for name in options.models:
                subject = common.subject(options, name)
                torch.manual_seed(options.seed)
                weights = TinyLlama(subject.config, VERSIONS["v1"]).state_dict()
                torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
                training = trained(subject, device, options.num_steps, weights, options.seed)
                group.append(Record(subject, training, here))
            print(report(group, metrics), end="\n\n")
            records += group
    if options.results is not None:
        for record in records:
            append(options.results, rows_of("suite", record))
    return records


def report(group: Sequence[Record], metrics: Sequence[str]) -> str:
    """Compares the records of one batch size and length with the first."""
    first = group[0]
    header, rows = ["version"], [[record.subject.version] for record in group]

    def add(name: str, cells: Sequence[str]) -> None:
        header.append(name)
        for cells_of_row, cell in zip(rows, cells, strict=True):
            cells_of_row.append(cell)

    trained = [record.training for record in group]
    if "throughput" in metrics:
        add("step ms", [f"{t.step_ms.median:.3f}" for t in trained])
        add("tokens/s", [f"{t.tokens_per_second:.0f}" for t in trained])
        add("×", [f"{first.training.step_ms.median / t.step_ms.median:.2f}" for t in trained])
    if "memory" in metrics:
        add("saved MiB", [f"{t.saved_mib:.1f}" for t in trained])
        if first.training.peak_memory_mib is not None:
            add("peak MiB", [f"{t.peak_memory_mib or 0:.0f}" for t in trained])
    if "accuracy" in metrics:
        add("last loss", [f"{t.losses[-1]:.4f}" for t in trained])
        add("no gradient", [str(len(t.without_gradient)) for t in trained])
    subject = first.subject
    title = f"{subject.size}, batch {subject.batch_size}, length {subject.sequence_length}, {subject.precision}"
    return f"{title}\n\n{common.table(header, rows)}"


if __name__ == "__main__":
    main()
