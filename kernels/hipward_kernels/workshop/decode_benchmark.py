"""Greedy decoding, one token after another: `… decode_benchmark --models v1,v2,v4 --prompt-length 128`.

Weights and arithmetic are in `--precision`; `bfloat16` means that the weights are. V1 keeps keys and values in tensors
that grow, V4 in buffers of fixed size with the step captured as a graph. What is timed is the whole text, prompt and
choice of tokens included, over the tokens that came out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from hipward_kernels.harness.timing import clock_for
from hipward_kernels.models.config import VERSIONS
from hipward_kernels.models.data import batches
from hipward_kernels.models.generation import generate
from hipward_kernels.models.graphs import GraphedDecoding, GraphRefusedError
from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.models.training import build, loss_curve, matmul_precision
from hipward_kernels.models.weights import copy_weights
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import Interval
from hipward_kernels.workshop.records import append, conditions, results_file, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.options import Subject

PRACTICE_STEPS = 20
"""Training steps before: an untrained model says one token for ever, and a wrong cache would not show."""


@dataclass(frozen=True)
class Decoding:
    """One version's."""

    subject: Subject
    token_ms: Interval
    """A token of every sequence, prompt included."""
    same_share: float
    """Share of the tokens that are V1's. In 16 bits two versions round differently, and the text parts at a tie."""
    note: str


def decode(
    subject: Subject, trained: TinyLlama, prompt: torch.Tensor, count: int, repeats: int
) -> tuple[Interval, torch.Tensor, str]:
    """Milliseconds for a token, the text, and why there is no graph."""
    dtype = torch.float32 if subject.precision == "tf32" else getattr(torch, subject.precision)
    model = TinyLlama(subject.config, subject.switches)
    copy_weights(trained, model, subject.config, subject.switches)
    model.to(prompt.device, dtype).eval()
    note = ""

    def text() -> torch.Tensor:
        return generate(model, prompt, count)

    if subject.switches.graphs:
        try:
            graphed = GraphedDecoding(model, prompt, count)

            def text() -> torch.Tensor:
                return graphed.generate(prompt, count)
        except GraphRefusedError as refusal:
            note = f"no graph: {refusal}"
    text()
    times, tokens = clock_for(prompt.device).samples(text, [()] * repeats)
    return Interval.of([time / count for time in times]), tokens.clone(), note


def main(arguments: Sequence[str] | None = None) -> list[Decoding]:
    """Entry point."""
    parser = common.parser("decode_benchmark", "Decodes one token after another.")
    parser.add_argument(
        "--models", type=common.versions, default="v1,v2,v4", help="versions, the first is the baseline"
    )
    parser.add_argument("--prompt-length", type=common.positive, default=128, help="tokens of the prompt")
    parser.add_argument("--new-tokens", type=common.positive, default=128, help="tokens that are decoded")
    parser.add_argument("--repeats", type=common.positive, default=10, help="texts that are timed")
    parser.add_argument("--results", type=results_file, help="CSV of results to append to")
    options = parser.parse_args(arguments)
    device = common.device(options)
    batch_size = options.batch_size or 1
    first = replace(common.subject(options, options.models[0]), batch_size=batch_size)
    if options.prompt_length + options.new_tokens > first.config.max_positions:
        parser.error(f"the size {first.size} has {first.config.max_positions} positions")
    here = conditions(device)
    with matmul_precision(first.precision):
        practice = build(first.config, VERSIONS["v1"], device, seed=options.seed)
        loss_curve(practice, batches(first.config, 8, 64, device, options.seed), PRACTICE_STEPS)
        prompt = next(batches(first.config, batch_size, options.prompt_length, device, options.seed + 1)).tokens
        decoded: list[Decoding] = []
        expected = None
        for name in options.models:
            subject = replace(
                common.subject(options, name), batch_size=batch_size, sequence_length=options.prompt_length
            )
            interval, tokens, note = decode(subject, practice.model, prompt, options.new_tokens, options.repeats)
            expected = tokens if expected is None else expected
            same = float((tokens == expected).float().mean())
            decoded.append(Decoding(subject, interval, same, note))
    print(report(decoded, options.new_tokens))
    if options.results is not None:
        for one in decoded:
            rows = [row("decode", one.subject, "token", "ms", one.token_ms, here)]
            speed = batch_size / one.token_ms.median * 1e3
            rows.append(row("decode", one.subject, "throughput", "tokens/s", speed, here))
            rows.append(
                row("decode", one.subject, "tokens equal to the first version's", "share", one.same_share, here)
            )
            append(options.results, rows)
    return decoded


def report(decoded: Sequence[Decoding], count: int) -> str:
    """For people."""
    first = decoded[0]
    rows = [
        [
            one.subject.version,
            f"{one.token_ms.median:.4f}",
            f"{one.subject.batch_size / one.token_ms.median * 1e3:.0f}",
            f"{first.token_ms.median / one.token_ms.median:.2f}",
            f"{one.same_share:.1%}",
            one.note,
        ]
        for one in decoded
    ]
    subject = first.subject
    title = (
        f"{subject.size}, batch {subject.batch_size}, {subject.sequence_length} + {count} tokens, {subject.precision}"
    )
    return f"{title}\n\n{common.table(['version', 'ms a token', 'tokens/s', '×', 'same tokens', ''], rows)}"


if __name__ == "__main__":
    main()
