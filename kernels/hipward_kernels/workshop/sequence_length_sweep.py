"""Memory and time of a step over the sequence length: `… sequence_length_sweep --seq-lengths 128,256,512,1024`.

What the forward keeps for the backward grows with the square of the length if scores are stored, and linearly
otherwise. The exponent between two lengths is printed: log(memory ratio) / log(length ratio).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from hipward_kernels.models.config import SIZES
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import trained
from hipward_kernels.workshop.records import Record, append, conditions, results_file, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTHS = [128, 256, 512, 1024]
"""Tokens in a sequence, as far as the model has positions."""


def main(arguments: Sequence[str] | None = None) -> list[list[Record]]:
    """Entry point; for each version, its records by length."""
    parser = common.parser("sequence_length_sweep", "Memory and time of a training step over the sequence length.")
    common.add_switches(parser)
    parser.add_argument("--models", type=common.versions, default="v1,v2", help="versions")
    parser.add_argument(
        "--seq-lengths",
        type=common.numbers,
        help=f"with commas; default: {','.join(map(str, LENGTHS))}, as far as the model has positions",
    )
    parser.add_argument("--num-steps", type=common.positive, default=10, help="timed training steps per length")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    device = common.device(options)
    here = conditions(device)
    positions = SIZES[options.size].config.max_positions
    lengths = options.seq_lengths or [length for length in LENGTHS if length <= positions]
    swept = []
    for name in options.models:
        records = []
        for length in lengths:
            options.seq_len = length
            subject = common.subject(options, name)
            torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
            training = trained(subject, device, options.num_steps, seed=options.seed)
            records.append(Record(subject, training, here))
        print(report(records), end="\n\n")
        swept.append(records)
        if options.results is not None:
            for record in records:
                append(options.results, rows_of("sequence-length", record))
    return swept


def exponents(records: Sequence[Record]) -> list[float]:
    """Growth exponents of what is kept for the backward, per pair of lengths: 1 is linear, 2 quadratic."""
    return [
        math.log(b.training.saved_mib / a.training.saved_mib)
        / math.log(b.subject.sequence_length / a.subject.sequence_length)
        for a, b in pairwise(records)
    ]


def report(records: Sequence[Record]) -> str:
    """The report on one version."""
    growth = ["", *(f"{exponent:.2f}" for exponent in exponents(records))]
    rows = [
        [
            str(record.subject.sequence_length),
            f"{record.training.step_ms.median:.3f}",
            f"{record.training.tokens_per_second:.0f}",
            f"{record.training.saved_mib:.1f}",
            grown,
            "" if record.training.peak_memory_mib is None else f"{record.training.peak_memory_mib:.0f}",
        ]
        for record, grown in zip(records, growth, strict=True)
    ]
    first = records[0].subject
    title = f"{first.version}, {first.size}, batch {first.batch_size}, {first.precision}"
    header = ["length", "step ms", "tokens/s", "saved MiB", "exponent", "peak MiB"]
    return f"{title}\n\n{common.table(header, rows)}"


if __name__ == "__main__":
    main()
