"""Greedy decoding, one token after another: `… decode_benchmark --models v1,v4 --prompt-length 128`.

Weights and arithmetic are in `--precision`; `bfloat16` means that the weights are. V1 keeps keys and values in tensors
that grow, V4 in buffers of fixed size with the step captured as a graph. What is timed is the whole text, prompt and
choice of tokens included, over the tokens that came out.

The versions take turns: each continues one prompt, in random order, then all continue the next one. A version that
waits for the host is as slow as the host is at that moment; what disturbs the machine disturbs all versions, and their
ratio has an interval from the same texts.
"""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.bench.comparison import ratio
from hipward_kernels.bench.perftest import copy_rate
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
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from hipward_kernels.bench.comparison import Ratio
    from hipward_kernels.harness.timing import Clock
    from hipward_kernels.workshop.options import Subject
    from hipward_kernels.workshop.records import Row

PRACTICE_STEPS = 20
"""Training steps before decoding: an untrained model repeats one token, which would hide a wrong cache."""
HEADER = ("version", "ms a token", "tokens/s", "×", "of memory roofline", "same tokens", "")


@dataclass(frozen=True)
class Decoder:
    """A version that is ready to decode."""

    subject: Subject
    text: Callable[[Tensor], Tensor]
    """Maps a prompt `[B, S]` to the tokens after it. The next call may overwrite the result."""
    parameter_bytes: int
    note: str
    """The reason if there is no graph."""


@dataclass(frozen=True)
class Decoding:
    """The results of one version."""

    subject: Subject
    token_ms: Interval
    """Time per token of every sequence, including the prompt."""
    speedup: Ratio
    """Speed-up over the first version on the same texts, with the 95 % interval."""
    floor_ms: float
    """The memory roofline: reading each parameter once, at the speed of a large copy on this device."""
    same_share: float
    """Share of the tokens that are V1's. In 16 bits, versions round differently, and their texts diverge at a tie."""
    note: str

    @property
    def of_floor(self) -> float:
        """The reached share of the memory roofline."""
        return self.floor_ms / self.token_ms.median


def prepare(subject: Subject, trained: TinyLlama, prompt: Tensor, count: int) -> Decoder:
    """Builds a version with the weights of `trained`, and continues `prompt` once to compile everything."""
    dtype = torch.float32 if subject.precision == "tf32" else getattr(torch, subject.precision)
    model = TinyLlama(subject.config, subject.switches)
    copy_weights(trained, model, subject.config, subject.switches)
    model.to(prompt.device, dtype).eval()
    note = ""

    def text(prompt: Tensor) -> Tensor:
        return generate(model, prompt, count)

    if subject.switches.graphs:
        try:
            graphed = GraphedDecoding(model, prompt, count)

            def text(prompt: Tensor) -> Tensor:
                return graphed.generate(prompt, count)
        except GraphRefusedError as refusal:
            note = f"no graph: {refusal}"
    text(prompt)
    return Decoder(subject, text, sum(parameter.nbytes for parameter in model.parameters()), note)


def race(decoders: Sequence[Decoder], prompts: Sequence[Tensor], count: int, clock: Clock) -> list[Decoding]:
    """Has all versions continue each prompt by `count` tokens, and compares them with the first."""
    rounds: list[list[list[float]]] = [[] for _ in decoders]
    same: list[list[float]] = [[] for _ in decoders]
    turns = list(range(len(decoders)))
    order = random.Random(0)  # noqa: S311 - only shuffles
    gc.collect()
    gc.disable()
    try:
        for prompt in prompts:
            order.shuffle(turns)
            texts: dict[int, Tensor] = {}
            for which in turns:
                times, tokens = clock.samples(decoders[which].text, [(prompt,)])
                rounds[which].append([times[0] / count])
                texts[which] = tokens.clone()
            for which in turns:
                same[which].append(float((texts[which] == texts[0]).float().mean()))
    finally:
        gc.enable()
    rate = 1e6 * copy_rate(prompts[0].device)
    return [
        Decoding(
            decoder.subject,
            Interval.of([time for times in rounds[which] for time in times]),
            ratio(rounds[0], rounds[which]),
            decoder.parameter_bytes / rate,
            mean(same[which]),
            decoder.note,
        )
        for which, decoder in enumerate(decoders)
    ]


def main(arguments: Sequence[str] | None = None) -> list[Decoding]:
    """Entry point."""
    parser = common.parser("decode_benchmark", "Decodes one token after another.")
    parser.add_argument(
        "--models", type=common.versions, default="v1,v2,v4", help="versions, the first is the baseline"
    )
    parser.add_argument("--prompt-length", type=common.positive, default=128, help="tokens of the prompt")
    parser.add_argument("--new-tokens", type=common.positive, default=128, help="tokens that are decoded")
    parser.add_argument("--repeats", type=common.positive, default=30, help="prompts that each version continues")
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
        texts = batches(first.config, batch_size, options.prompt_length, device, options.seed + 1)
        prompts = [next(texts).tokens for _ in range(options.repeats)]
        decoders = []
        for name in options.models:
            subject = replace(
                common.subject(options, name), batch_size=batch_size, sequence_length=options.prompt_length
            )
            decoders.append(prepare(subject, practice.model, prompts[0], options.new_tokens))
        decoded = race(decoders, prompts, options.new_tokens, clock_for(device))
    print(report(decoded, options.new_tokens))
    if options.results is not None:
        for one in decoded:
            append(options.results, rows_of(one, here))
    return decoded


def rows_of(one: Decoding, here: dict[str, Any]) -> list[Row]:
    """The figures of a version."""
    speed = one.subject.batch_size / one.token_ms.median * 1e3
    faster = Interval(one.speedup.middle, one.speedup.low, one.speedup.high, one.token_ms.samples)
    figures: list[tuple[str, str, float | Interval]] = [
        ("token", "ms", one.token_ms),
        ("throughput", "tokens/s", speed),
        ("speed-up over the first version", "×", faster),
        ("memory roofline: parameters once, at copy speed", "ms", one.floor_ms),
        ("share of the memory roofline", "share", one.of_floor),
        ("tokens equal to the first version's", "share", one.same_share),
    ]
    return [row("decode", one.subject, metric, unit, value, here) for metric, unit, value in figures]


def report(decoded: Sequence[Decoding], count: int) -> str:
    """The report as text."""
    first = decoded[0]
    rows = [
        [
            one.subject.version,
            f"{one.token_ms.median:.4f} [{one.token_ms.low:.4f}, {one.token_ms.high:.4f}]",
            f"{one.subject.batch_size / one.token_ms.median * 1e3:.0f}",
            f"{one.speedup.middle:.2f} [{one.speedup.low:.2f}, {one.speedup.high:.2f}]",
            f"{one.of_floor:.1%}",
            f"{one.same_share:.1%}",
            one.note,
        ]
        for one in decoded
    ]
    subject = first.subject
    title = (
        f"{subject.size}, batch {subject.batch_size}, {subject.sequence_length} + {count} tokens, {subject.precision}, "
        f"{first.token_ms.samples} texts; reading the parameters once takes {first.floor_ms:.4f} ms"
    )
    return f"{title}\n\n{common.table(HEADER, rows)}"


if __name__ == "__main__":
    main()
