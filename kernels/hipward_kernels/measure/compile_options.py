"""Ablation of the options of `torch.compile`: `python -m hipward_kernels.measure.compile_options FILE`.

Each option of Inductor is changed alone, and all of them together, or with `--all-combinations` in every combination.
A variant is timed only if the precision gate accepts it. All variants take turns with the default options, which also
take part a second time; the difference between the two is the noise of the run.

    python -m hipward_kernels.measure.compile_options layer.py --dtype bfloat16 --option max_autotune=True

An option that equals the default of this PyTorch is not measured, and neither is a combination in which an option has
no effect, because Inductor reads it only together with another one (`REQUIRES`).
"""

from __future__ import annotations

import argparse
import ast
import itertools
import math
import random
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch._inductor import config as inductor_config
from torch._inductor import metrics
from torch._inductor.utils import fresh_cache

from hipward_kernels.bench.comparison import outcome, ratio
from hipward_kernels.bench.core import RESULTS, Timings, warm
from hipward_kernels.bench.results import Conditions, append_rows, conditions_of
from hipward_kernels.harness import precision
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.reference import Reference
from hipward_kernels.harness.sampling import StopRule, interleave, median_interval
from hipward_kernels.harness.timing import clock_for
from hipward_kernels.harness.trials import Trials
from hipward_kernels.harness.variants import Origin, forget_compilations
from hipward_kernels.measure import subject
from hipward_kernels.numerics.nested import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import nn

    from hipward_kernels.harness.contract import Snippet

DEFAULT = "default"
AGAIN = "default, again"
EAGER = "eager"

OPTIONS: Mapping[str, Any] = {
    "aggressive_fusion": True,
    "coordinate_descent_tuning": True,
    "freezing": True,
    "shape_padding": False,
    "max_autotune": True,
    "epilogue_fusion": False,
}
"""The options that are changed by default. `shape_padding` and `epilogue_fusion` are on in PyTorch; they are changed to
measure what they gain."""

REQUIRES: Mapping[str, frozenset[str]] = {
    "epilogue_fusion": frozenset({"max_autotune", "max_autotune_gemm"}),
    "prologue_fusion": frozenset({"max_autotune", "max_autotune_gemm"}),
    "max_autotune_gemm_backends": frozenset({"max_autotune", "max_autotune_gemm"}),
    "coordinate_descent_check_all_directions": frozenset({"coordinate_descent_tuning"}),
}
"""Options that Inductor reads only if one of others is on: the epilogue is that of a matrix product that is generated,
and without autotuning a product is a library call."""

RULE = StopRule(time_cap_s=1.0, half_width=0.003, min_seconds=0.02, max_samples=300, round_samples=20)

LONGEST_NOTE = 200
"""Characters of an error message."""

BUFFER_SETS = 4
BUFFER_BYTES = 1 << 30

Options = dict[str, Any]


@dataclass(frozen=True)
class Row(Conditions):
    """One variant of one model."""

    subject: str
    """Name of the file."""
    dtype: str
    options: str
    """`aggressive_fusion=True freezing=True`, `default`, `default, again` or `eager`."""
    result: Literal["timed", "rejected", "failed"]
    median_ms: float | None
    ci_low_ms: float | None
    """Lower end of the median's 95 % confidence interval."""
    ci_high_ms: float | None
    samples: int | None
    speedup: float | None
    """Median of the default options divided by this one's, over the rounds that both took part in; in the rows of
    2026-11-23 over all rounds, unlike its interval."""
    speedup_low: float | None
    """Lower end of the 95 % interval of that ratio."""
    speedup_high: float | None
    noise: float | None
    """The factor by which the default options differed from themselves."""
    outcome: str
    """FASTER, SAME, SLOWER or AMBIGUOUS, compared with the default options."""
    limit_used: float | None
    """The largest error relative to the limit of the precision gate."""
    kernels: int | None
    """Kernels that Inductor generated."""
    compile_s: float | None
    """Seconds of the first call, without cached compilations."""
    note: str
    """The reason if it was not timed."""


COLUMNS = [
    *(field.name for field in fields(Row) if field.name not in {known.name for known in fields(Conditions)}),
    *(field.name for field in fields(Conditions)),
]


class Converted:
    """A snippet with floating-point parameters and inputs in a dtype."""

    def __init__(self, snippet: Snippet, dtype: torch.dtype | None) -> None:
        self.device = snippet.device
        self._snippet = snippet
        self._dtype = dtype

    def build(self, name: str) -> nn.Module:
        """See `Snippet.build`."""
        model = self._snippet.build(name)
        return model if self._dtype is None else model.to(self._dtype)

    def inputs(self, seed: int) -> list[Any]:
        """See `Snippet.inputs`."""
        return [self._converted(value) for value in self._snippet.inputs(seed)]

    def _converted(self, value: Any) -> Any:
        floating = isinstance(value, Tensor) and value.is_floating_point() and self._dtype is not None
        return value.to(self._dtype) if floating else value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snippet, name)


def parsed(texts: Sequence[str]) -> Options:
    """Options from `NAME=VALUE`.

    Raises:
        ValueError: One has another form, or this PyTorch has no such option.
    """
    known = inductor_config.get_config_copy()
    found: Options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text}: write NAME=VALUE, such as aggressive_fusion=True")
        if name not in known:
            raise ValueError(f"{name} is no option of Inductor in PyTorch {torch.__version__}")
        found[name] = value
        with suppress(ValueError, SyntaxError):
            found[name] = ast.literal_eval(value)
    return found


def changing(options: Options) -> tuple[Options, list[str]]:
    """The options that differ from the defaults of this PyTorch, and a sentence for each of the others."""
    known = inductor_config.get_config_copy()
    changed = {name: value for name, value in options.items() if name in known and known[name] != value}
    left = [
        f"{name}={value} is the default" if name in known else f"PyTorch {torch.__version__} has no option {name}"
        for name, value in options.items()
        if name not in changed
    ]
    return changed, left


def has_effect(options: Options) -> bool:
    """Whether Inductor reads each of the options in this combination."""
    return all(any(options.get(other) for other in REQUIRES[name]) for name in options if name in REQUIRES)


def combinations(options: Options, *, all_of_them: bool) -> Iterator[Options]:
    """The combinations to measure: each option alone, then all together; or every combination.

    An option that requires another one is combined with the first that `options` contains.
    """
    seen: list[Options] = []
    for size in range(1, len(options) + 1):
        for names in itertools.combinations(options, size):
            if not all_of_them and size not in (1, len(options)):
                continue
            chosen = {name: options[name] for name in names}
            if not all_of_them and size == 1 and not has_effect(chosen):
                helper = next((name for name in REQUIRES[names[0]] if options.get(name)), None)
                chosen |= {} if helper is None else {helper: options[helper]}
            if has_effect(chosen) and chosen not in seen:
                seen.append(chosen)
                yield chosen


def in_words(options: Options) -> str:
    """`aggressive_fusion=True freezing=True`, or `default`."""
    return " ".join(f"{name}={value}" for name, value in options.items()) or DEFAULT


@dataclass
class Variant:
    """A compiled model, and what the gate found."""

    call: Callable[..., Any]
    kernels: int | None
    compile_s: float | None
    limit_used: float | None


class LeftOutError(Exception):
    """A variant is not timed. `result` is that of its row; the message is the reason."""

    def __init__(self, result: Literal["rejected", "failed"], reason: str) -> None:
        super().__init__(reason)
        self.result: Literal["rejected", "failed"] = result


def compiled(model: nn.Module, options: Options, arguments: Sequence[Any], trials: Trials) -> Variant:
    """Compiles a model and checks its results.

    Raises:
        LeftOutError: It cannot be compiled or run, or its results are wrong.
    """
    metrics.reset()
    try:
        # A cached compilation would generate no kernels and take no time.
        with torch.no_grad(), fresh_cache():
            call: Callable[..., Any] = torch.compile(model, options=dict(options))
            started = perf_counter()
            call(*arguments)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            seconds = perf_counter() - started
            kernels = int(metrics.generated_kernel_count)
            found = precision.check(call, trials)
    # A compiler may raise anything for options that it was not tested with.
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise LeftOutError("failed", f"{type(error).__name__}: {lines[0] if lines else ''}"[:LONGEST_NOTE]) from error
    if not found.passed:
        raise LeftOutError("rejected", found.reason or "its results are wrong")
    used = [output.limit_used for output in found.outputs if output.limit_used is not None]
    return Variant(call, kernels, seconds, max(used, default=None))


def buffers(snippet: Converted, first: list[Any]) -> list[list[Any]]:
    """A few sets of arguments that together take at most `BUFFER_BYTES`, so that caches do not hold the inputs."""
    count = min(BUFFER_SETS, max(BUFFER_BYTES // max(size_in_bytes(first), 1), 1))
    return [first, *(snippet.inputs(seed) for seed in range(1, count))]


def measure(snippet: Converted, sets: Sequence[Options], rule: StopRule, **labels: str) -> list[Row]:
    """Checks and times eager, the default options twice, and each set of options.

    Args:
        snippet: The model.
        sets: The sets of options.
        rule: When a variant has been timed enough.
        labels: The fields `subject` and `dtype` of the rows.
    """
    forget_compilations()
    model = snippet.build("Model")
    arguments = buffers(snippet, snippet.inputs(0))
    origin = Origin(snippet, model, arguments[0])  # type: ignore[arg-type]
    trials = Trials(snippet, model, Reference(model, origin.copy, arguments[0]))  # type: ignore[arg-type]
    clock = clock_for(snippet.device)
    same = asdict(conditions_of(environment(snippet.device, clock, rule)))
    variants: dict[str, Variant] = {EAGER: Variant(model, None, None, None)}
    left: list[Row] = []
    for options in ({}, *sets):
        name = in_words(options)
        # Each variant has a module of its own: compilations of one module with other options replace each other.
        try:
            variants[name] = compiled(origin.copy(), options, arguments[0], trials)
        except LeftOutError as error:
            left.append(replace(_empty(name, same, labels), result=error.result, note=str(error)))
            print(f"  {name}: {error.result}, {error}", flush=True)
            if name == DEFAULT:
                return left
    calls = {name: variant.call for name, variant in variants.items()}
    calls[AGAIN] = calls[DEFAULT]
    taken = Timings(calls, arguments, clock)
    expected = {name: warm(call, arguments[0], snippet.device) for name, call in calls.items()}
    order = random.Random(0)  # noqa: S311 - only shuffles
    interleave(expected, taken.take, rule, order, taken, lambda: None)
    noise = ratio(taken.rounds[AGAIN], taken.rounds[DEFAULT]).noise
    measured = []
    for name in calls:
        middle, low, high = median_interval(taken.ms[name])
        against = ratio(taken.rounds[DEFAULT], taken.rounds[name])
        variant = variants.get(name, variants[DEFAULT])
        measured.append(
            replace(
                _empty(name, same, labels),
                median_ms=middle,
                ci_low_ms=low,
                ci_high_ms=high,
                samples=len(taken.ms[name]),
                speedup=against.middle,
                speedup_low=against.low,
                speedup_high=against.high,
                noise=noise,
                outcome="" if name in (DEFAULT, AGAIN) else outcome(against, noise),
                limit_used=variant.limit_used,
                kernels=variant.kernels,
                compile_s=variant.compile_s,
            )
        )
    return [*measured, *left]


def _empty(name: str, conditions: Mapping[str, Any], labels: Mapping[str, str]) -> Row:
    nothing = dict.fromkeys(("median_ms", "ci_low_ms", "ci_high_ms", "samples", "speedup", "speedup_low"))
    nothing |= dict.fromkeys(("speedup_high", "noise", "limit_used", "kernels", "compile_s"))
    return Row(**conditions, **labels, **nothing, options=name, result="timed", outcome="", note="")  # type: ignore[arg-type]


def report(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| options | ms (95 % interval) | × default | outcome | kernels | compile s | limit used |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        if row.median_ms is None or row.speedup is None:
            lines.append(f"| {row.options} | {row.result}: {row.note} | | | | | |")
            continue
        used = "" if row.limit_used is None else f"{row.limit_used:.0%}"
        seconds = "" if row.compile_s is None else f"{row.compile_s:.1f}"
        lines.append(
            f"| {row.options} | {row.median_ms:.4f} ({row.ci_low_ms:.4f} to {row.ci_high_ms:.4f}) | {row.speedup:.3f} "
            f"({row.speedup_low:.3f} to {row.speedup_high:.3f}) | {row.outcome} | "
            f"{'' if row.kernels is None else row.kernels} | {seconds} | {used} |"
        )
    noise = next((row.noise for row in rows if row.noise is not None), math.nan)
    return "\n".join([*lines, "", f"The default options differ from themselves by a factor of up to {noise:.3f}."])


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.measure.compile_options", description=__doc__)
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], help="of parameters and inputs")
    parser.add_argument("--option", action="append", metavar="NAME=VALUE", help="instead of the usual ones; repeatable")
    parser.add_argument("--all-combinations", action="store_true", help="instead of each alone, and all together")
    parser.add_argument(
        "--time-cap", type=float, default=RULE.time_cap_s, help="most seconds of sampling for a variant"
    )
    parser.add_argument("--results", type=Path, help=f"CSV to append to, such as {RESULTS.name}/compile_options.csv")
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    try:
        changed, left = changing(parsed(options.option) if options.option else dict(OPTIONS))
    except ValueError as error:
        parser.error(str(error))
    for sentence in left:
        print(f"Not measured: {sentence}.")
    dtype = None if options.dtype is None else getattr(torch, options.dtype)
    sets = list(combinations(changed, all_of_them=options.all_combinations))
    rule = replace(RULE, time_cap_s=options.time_cap)
    labels = {"subject": options.file.stem, "dtype": options.dtype or "as written"}
    rows = measure(Converted(snippet, dtype), sets, rule, **labels)
    print(report(rows))
    if options.results is not None:
        append_rows(options.results, COLUMNS, rows)


if __name__ == "__main__":
    main()
