"""The steps of a job: conditions, precision, warm-up, timing.

A variant that fails is skipped with a reason, and the job continues with the others. Only a failure of `Model` or of
the harness ends the job.
"""

from __future__ import annotations

import gc
import json
import math
import secrets
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from hipward_kernels.harness import contract, cpp_headers, precision, snippet_checks, step_cost, vector_isa
from hipward_kernels.harness.clean_process import CleanProcess, NotTimedError
from hipward_kernels.harness.cpp_compilers import several as several_compilers
from hipward_kernels.harness.deadline import Deadline, OutOfTimeError
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.failure import (
    JobFailedError,
    in_words,
    is_out_of_memory,
    summary,
)
from hipward_kernels.harness.input_dependence import dependence_warnings
from hipward_kernels.harness.inputs import Ring, Source
from hipward_kernels.harness.lines import Failure, Precision
from hipward_kernels.harness.model_alone import HOST_LIMIT, LIMIT, Limit, SlowModelError, differs, times_of
from hipward_kernels.harness.model_seals import ModelSeals
from hipward_kernels.harness.object_seals import ObjectSeals
from hipward_kernels.harness.object_search import ObjectSearch
from hipward_kernels.harness.race import Entrant, Race, SlowedError, Timed, left_out
from hipward_kernels.harness.reference import Reference
from hipward_kernels.harness.roofline import roofline, work_of
from hipward_kernels.harness.sampling import WALL_FACTOR, StopRule
from hipward_kernels.harness.tamper import Seals, tampered
from hipward_kernels.harness.time_shares import SOON_S, is_optional, share_s
from hipward_kernels.harness.timing import DeviceClock, clock_for
from hipward_kernels.harness.trials import BESIDE_COPIES, Trials, results_of
from hipward_kernels.harness.variants import (
    COMPILED,
    CONTROL,
    EAGER,
    LABELS,
    MODEL_NEW,
    STEPS,
    VARIANT_INFO,
    NothingToDoError,
    Origin,
    UnavailableError,
    build,
    forget_compilations,
    parse_variants,
)
from hipward_kernels.harness.waiting import LEAST_SHARE, computing_share
from hipward_kernels.harness.warm_up import WARM_CALLS, WARM_SECONDS, warm_up
from hipward_kernels.numerics.nested import cloned, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import nn

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import Lines, OutputError, VariantId
    from hipward_kernels.harness.timing import WatchfulClock
    from hipward_kernels.harness.variants import BuiltVariant

T = TypeVar("T")

EAGER_CALLS = 1
"""Trials in which Model, or its copy, is called once more, to see that its results are repeatable."""

LEAST_COSINE = 0.99
"""Of Model's results with the reference; below, a warning says that the gate accepts much."""

SAMPLING_OVERHEAD = 2.0
"""Duration of sampling relative to the samples: it includes other calls of a turn, and the creation of inputs."""

SAMPLING_S = {"cuda": 30.0, "cpu": 3.0}
"""Time for the samples of all variants, if less than their time caps; each variant has `LEAST_CAP_S`, at least. Times
of a processor vary by some percent, and more samples hardly narrow their intervals."""
LEAST_CAP_S = 1.0

READY_S = 70.0
LEAST_SAMPLING_S = 12.0
"""With a time limit, sampling is shortened so that the job ends about `READY_S` after its start: a person waits for the
result. It is not shortened below `LEAST_SAMPLING_S`, if `SAMPLING_S` is longer."""

ALONE_LEAST_S = 3.0
"""Time that must be left for the comparison with Model alone."""
ALONE_SECONDS = 0.5
"""Time of the samples with which the comparison is repeated."""
ALONE_MOST_CALL_S = 2.0
"""On a GPU, where the time for Model alone is taken from the variants; at least ten calls are needed."""

WAITING_LEAST_S = 1.0
"""Time that must be left, beside that of a call, to find out whether Model waits."""

_NOT_COMPARED = "So it was not checked whether ModelNew makes Model slower."

SUBJECTS: dict[VariantId, str] = {"eager": "Model", "eager-control": "Model, run again,"}
"""Subjects of sentences about variants, if different from the variant's label."""


def subject(variant: VariantId) -> str:
    """Subject of a sentence about a variant."""
    return SUBJECTS.get(variant, LABELS[variant])


_WAYS_TO_C = ("ctypes", "cpp_extension", "load_inline", "load_library")
"""The runner marks snippets that name one of these."""

_LOADS_C = (
    "The snippet loads code in C, by a name that it computes. No check covers what such code does to the process that "
    "measures it: read the snippet before you trust the result."
)

_NOT_REPEATABLE = Failure(
    "forward-error",
    "Model returns another result when it is called again with the same inputs and seed, so nothing can be compared.",
    "Make forward depend only on its arguments and parameters: no counters, no clock, no generator of its own.",
)


_TF32 = (
    " It passes without TF32 in convolutions: PyTorch permits TF32 there, and this variant uses it; Model's error is"
    " that of float32."
    " To compare both in float32, set torch.backends.cudnn.allow_tf32 = False at the top of the snippet."
)

_OTHER_NUMBERS = (
    " Model draws random numbers, as dropout does in training, and this variant may draw others from the same seed: "
    "their results cannot be compared. Leave the random step out, or pass its numbers as an input."
)


@dataclass(frozen=True)
class Job:
    """A job; `HarnessJob` in `runner/protocol/src/harness.rs`."""

    code: str
    variants: list[VariantId]
    device: str
    time_cap_s: float
    time_limit_s: float | None = None
    """Time limit of the job, counted from when the worker receives it."""
    nonce: str | None = None
    """Secret of the runner that is part of every line, so that forged lines are recognized."""

    @staticmethod
    def from_json(line: str) -> Job:
        """Parses a job from one line.

        Raises:
            ValueError: The line is not a job.
        """
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError("a job is a JSON object")  # noqa: TRY004 - one exception for every bad line
        try:
            code, device, cap = value["code"], value["device"], float(value["time_cap_s"])
            variants = parse_variants(value["variants"])
            limit = value.get("time_limit_s")
            limit = None if limit is None else float(limit)
            nonce = value.get("nonce")
        except (KeyError, TypeError) as error:
            raise ValueError(f"a job has a missing or malformed field: {error}") from error
        if not isinstance(code, str) or not isinstance(device, str) or not cap > 0:
            raise ValueError("code and device must be strings, and time_cap_s greater than zero")
        if limit is not None and not limit > 0:
            raise ValueError("time_limit_s must be greater than zero")
        if nonce is not None and not isinstance(nonce, str):
            raise ValueError("nonce must be a string")
        return Job(code, variants, device, cap, limit, nonce)


def clean_process_for(job: Job) -> CleanProcess | None:
    """The process that times Model once more, if the job needs it: call this before PyTorch computes anything."""
    return CleanProcess() if job.device == "cpu" and MODEL_NEW in job.variants else None


class _Stopwatch:
    """A variant whose calls are timed on the host."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.seconds = math.inf
        """Duration of the shortest call: another program may run during any of them."""

    def __call__(self, *arguments: Any) -> Any:
        started = perf_counter()
        try:
            return self._call(*arguments)
        finally:
            self.seconds = min(self.seconds, perf_counter() - started)


def run(job: Job, lines: Lines, directory: Path, clean: CleanProcess | None = None) -> None:
    """Runs a job and writes its lines, the last of which is `finished` or `error`.

    Args:
        job: The job.
        lines: Receives the lines.
        directory: Folder for the snippet.
        clean: Times Model once more, if the job has ModelNew.
    """
    if job.nonce is not None:
        lines.mark(job.nonce)
    deadline = Deadline(job.time_limit_s)
    # Written at once, because code in C can end the job.
    warnings = [] if any(name in job.code for name in _WAYS_TO_C) else [_LOADS_C]
    search = ObjectSearch(directory, lambda: lines.warning(warnings.pop()) if warnings else None)
    lines.accepted()
    try:
        _Run(job, lines, directory, deadline, clean, search).all()
    except JobFailedError as error:
        lines.error(search.failure() or error.failure)
    except BaseException as error:
        # Reports every exception of a snippet before this process ends.
        doing = "Copies of the inputs and results" if is_out_of_memory(error) else "The harness"
        lines.error(search.failure() or in_words(error, "internal", doing, directory / "snippet.py"))
    else:
        lines.finished()
    finally:
        if clean:
            clean.close()


class _Run:
    """State of one job."""

    def __init__(
        self,
        job: Job,
        lines: Lines,
        directory: Path,
        deadline: Deadline,
        clean: CleanProcess | None,
        search: ObjectSearch,
    ) -> None:
        self.job = job
        self.search = search
        self.clean = clean
        self.deadline = deadline
        self.lines = lines
        self.device = _device(job.device)
        self.rule = StopRule(time_cap_s=job.time_cap_s)
        self.clock: WatchfulClock = clock_for(self.device)
        # Written before the snippet is imported, so that it cannot change the reported conditions.
        lines.environment(environment(self.device, self.clock, self.rule))
        lines.variants([variant for variant in VARIANT_INFO if variant.id in job.variants])
        lines.step("load")
        threads = torch.get_num_threads()
        forget_compilations()
        self.alone_ms: list[float] = []
        """On a GPU, times of Model before ModelNew was defined."""
        self.not_alone = "no statement of the snippet names it"
        """Why there are none."""
        self.seals = Seals()
        self.object_seals = ObjectSeals(self.lines, self.clock)
        with self._in_time("Importing the snippet"):
            times_alone = self.device.type != "cpu" and MODEL_NEW in job.variants
            self.snippet: Snippet = contract.load(
                job.code, directory, self.device, self._time_model_alone if times_alone else None
            )
        self.threads = torch.get_num_threads()
        """Set by the import of the snippet, in the copy of this process as well."""
        if self.threads != threads:
            self.lines.warning(
                f"The snippet sets PyTorch's threads to {self.threads}; the conditions name {threads}, as before."
            )
        if self.clean and not self.snippet.has_model_new:
            self.clean.close()
            self.clean = None
        self.variants: dict[VariantId, Entrant] = {}
        self.costly: set[VariantId] = set()
        self.idle: set[VariantId] = set()
        """Steps that change nothing in this model."""
        self.eager_errors: list[OutputError] = []
        self.eager_behaviour: snippet_checks.Behaviour | None = None
        self.model_seals: ModelSeals | None = None
        self.check_seals()

    def all(self) -> None:
        """Runs every step in order."""
        origin, trials = self._begin()
        ring = self._prepare_all(origin, trials)
        self.lines.step("input-dependence")
        self._check_input_dependence(trials)
        trials.forget()
        timed = self._race(ring, trials)
        in_order = [variant for variant in self.job.variants if variant in timed]
        waiting = [variant for variant in in_order if self._time_hot(variant, ring, timed[variant])]
        if waiting:
            self.lines.warning(_small(waiting))
        self.check_seals(weights=True)
        if MODEL_NEW in timed:
            self._compare_with_model_alone(ring, timed[EAGER], HOST_LIMIT if EAGER in waiting else LIMIT)
        self._report_waiting(ring)

    def _begin(self) -> tuple[Origin, Trials]:
        """Builds and calls Model, and determines what other variants are compared with."""
        self.lines.step("reference")
        with self._in_time("The construction of Model"):
            model = self.snippet.build("Model")
        self.seals.note_model(model)
        self.model_seals = ModelSeals(model, self.snippet.module)
        seed = secrets.randbits(31)
        with self._in_time("get_inputs"):
            inputs = self.snippet.inputs(seed)
        with self._in_time("Model.forward"):
            try:
                results_of(model, cloned(inputs), seed)
            except OutOfTimeError:
                raise
            except BaseException as error:
                raise JobFailedError(self._forward_failure(error)) from error
            self.lines.step("roofline")
            operators = self._find_floor(model, inputs)
            self.seals.note_operators(operators or ())
            self.source = Source(self.snippet)
            self.lines.step("reference")
            origin = Origin(self.snippet, model, inputs, operators)
            reference = Reference(model, origin.copy, inputs, seed)
        return origin, Trials(self.snippet, model, reference, left_s=self.deadline.left_s())

    def _prepare_all(self, origin: Origin, trials: Trials) -> Ring:
        """Prepares each variant; returns the inputs of the timed calls."""
        ring = None
        for variant in self.job.variants:
            if variant == EAGER:
                with self._in_time("The comparison of Model with its reference"):
                    based_on = self._prepare(variant, origin, trials)
                    assert self.model_seals is not None  # noqa: S101 - noted when Model was built
                    self.model_seals.settle()
            else:
                based_on = self._prepare_in_time(variant, origin, trials)
            if variant in STEPS and variant in self.variants:
                self.lines.step("step-cost", variant)
                # Eager is the first variant; it shows whether inputs must be copied.
                ring = ring or self._ring(trials)
                self._measure_step(variant, based_on, ring, trials.reference)
            self.check_seals()
        return ring or self._ring(trials)

    def _ring(self, trials: Trials) -> Ring:
        copy_each = trials.eager_changes_inputs
        return self._with_memory(trials, lambda: Ring(self.source, copy_each=copy_each))

    def _race(self, ring: Ring, trials: Trials) -> dict[VariantId, Timed]:
        """Times the variants that are ready."""
        reference = trials.reference

        def out(variant: VariantId, error: BaseException) -> None:
            self._reject(variant, error, reference)

        def objection(variant: VariantId) -> str | None:
            entrant = self.variants[variant]
            return self._objection(entrant.call, results_last=entrant.results_last)

        errors, limit = self.eager_errors, reference.limit
        race = Race(
            self.variants,
            ring,
            self.clock,
            errors,
            limit,
            out,
            self.check_seals,
            objection,
            self.deadline,
            seeds_calls=bool(trials.eager_is_random),
            containers=trials.containers,
        )
        if self.device.type != "cpu":
            # Memory of the preparations is not needed any more.
            gc.collect()
            torch.cuda.empty_cache()
        self.lines.step("timing")
        cap_s = max(sampling_s(self.deadline, self.device) / len(self.variants), LEAST_CAP_S)
        timed = race.start(replace(self.rule, time_cap_s=min(self.rule.time_cap_s, cap_s)), self.lines)
        if EAGER not in timed:
            raise JobFailedError(
                Failure(
                    "timeout",
                    f"Model could not be measured within the job's time limit of {self.deadline.limit_s:g} s.",
                    "Make the inputs smaller; the operator of this server can raise the limit with --wall-limit.",
                )
            )
        return timed

    @contextmanager
    def _in_time(self, what: str) -> Iterator[None]:
        """Ends the job with a sentence about `what` if the `with` block does not end before the deadline."""
        try:
            with self.deadline.reserving(0.0):
                yield
        except OutOfTimeError as error:
            raise JobFailedError(
                Failure(
                    "timeout",
                    f"{error.doing or what} did not end within the job's time limit of {self.deadline.limit_s:g} s.",
                    "Look for an infinite loop, or make the inputs smaller; the operator of this server can raise the "
                    "limit with --wall-limit.",
                )
            ) from error

    def _time_model_alone(self, snippet: Snippet) -> None:
        """Times Model on a GPU, before ModelNew is defined."""
        self.lines.step("model-alone")
        try:
            self.alone_ms = times_of(snippet, ALONE_MOST_CALL_S)
        except OutOfTimeError:
            raise
        except SlowModelError as error:
            self.not_alone = str(error)
        except BaseException as error:  # The snippet may raise anything; what concerns Model itself is found later.
            self.not_alone = summary(error)
        gc.collect()
        torch.cuda.empty_cache()
        self.lines.step("load")

    def _compare_with_model_alone(self, ring: Ring, timed: Timed, limit: Limit) -> None:
        """Reports if Model is slower here than where no code of ModelNew has run, or could not be timed there."""
        if self.clean:
            self.lines.step("model-alone")
            where = "in a process that never ran ModelNew"
        elif self.device.type != "cpu":
            where = "before ModelNew was defined"
        else:
            return
        here = timed.ms
        # More than once, because a host may be busy for a moment.
        for comparison in range(limit.comparisons):
            if self.deadline.left_s() < ALONE_LEAST_S:
                if not comparison:
                    self.lines.warning(f"The job's time limit was near. {_NOT_COMPARED}")
                return
            if comparison:
                if not self.clean:
                    self.lines.step("model-alone")
                sleep(limit.pause_s)
                eager = self.variants[EAGER]
                count = min(max(int(ALONE_SECONDS / max(eager.call_s, 1e-9)), 4), len(here))
                with torch.no_grad():
                    here, _ = self.clock.samples(eager.call, [ring.take() for _ in range(count)])
            try:
                alone = self._alone()
            except NotTimedError as error:
                self.lines.warning(f"Model could not be timed {where}: {error}. {_NOT_COMPARED}")
                return
            if not differs(here, alone, limit.ratio):
                return
        self.lines.warning(
            f"Model takes {median(here):.3g} ms beside ModelNew, and {median(alone):.3g} ms {where}, so no speed-up "
            "over eager is reliable: something in this process makes Model slower."
        )

    def _report_waiting(self, ring: Ring) -> None:
        """Reports a Model that waits on a CPU. Where a device waits for the host, `_time_hot` finds it."""
        eager = self.variants[EAGER]
        if self.device.type != "cpu" or self.deadline.left_s() < eager.call_s + WAITING_LEAST_S:
            return
        share = computing_share(eager, ring)
        if share < LEAST_SHARE:
            self.lines.warning(
                f"Model waits in its calls: it computes in at most {share:.0%} of their time. A variant that leaves "
                "the wait out is faster for that reason alone, so no speed-up over eager says how fast it computes."
            )

    def _alone(self) -> list[float]:
        if self.clean:
            return self.clean.time(self.job.code, self.threads, self.deadline.left_s())
        if not self.alone_ms:
            raise NotTimedError(self.not_alone)
        return self.alone_ms

    def check_seals(self, *, weights: bool = False) -> None:
        """Ends the job if the snippet has replaced or searched what measures it, or has changed Model.

        With `weights`, the contents of all weights are compared.
        """
        if failure := self.search.failure():
            raise JobFailedError(failure)
        replaced = self.seals.broken(everything=weights) or self.object_seals.broken()
        if self.model_seals:
            replaced = replaced or self.model_seals.broken() or (weights and self.model_seals.weights_broken()) or None
        if replaced:
            raise JobFailedError(tampered(replaced))

    def _find_floor(self, model: nn.Module, inputs: list[Any]) -> frozenset[str] | None:
        """Reports the roofline; returns the operators that the model runs.

        A model that cannot run under a dispatch mode has no roofline, and its operators are not known.
        """
        arguments = cloned(inputs)
        try:
            work = work_of(model, arguments)
        except Exception:  # User code may raise anything under a dispatch mode; it ran without one.
            return None
        floating = [t.dtype for t in tensors(arguments) if t.is_floating_point()]
        floating += [p.dtype for p in model.parameters() if p.is_floating_point()]
        dtype = floating[0] if floating else torch.float32
        self.lines.roofline(roofline(work, self.device, dtype, self.clock))
        return work.operators

    def _time_hot(self, variant: VariantId, ring: Ring, cold: Timed) -> bool:
        """Measures with warm caches on a GPU; returns whether the host's time is the limit."""
        if not isinstance(self.clock, DeviceClock) or self.deadline.left_s() <= 0:
            return False
        self.lines.step("warm-caches", variant)
        with torch.no_grad():
            hot = self.clock.hot(self.variants[variant].call, ring.take(), cold.shortest_ms * 1e-3)
        self.lines.hot(variant, hot)
        hot_ms = median(hot.ms)
        if not hot.waits_for_host and hot_ms > step_cost.COSTS * cold.median_ms:
            what = (
                f"{LABELS[variant]} is slower with warm caches, {hot_ms:.3g} ms, than with cold, {cold.median_ms:.3g}"
            )
            self.lines.warning(f"{what}: {_clocks(self.clock.watch.mhz, cold.mhz)}")
        return hot.waits_for_host

    def _measure_step(
        self, variant: VariantId, based_on: Sequence[VariantId], ring: Ring, reference: Reference
    ) -> None:
        """Excludes a step that costs time from later variants. It is still timed, so that the result shows it."""
        below = based_on[-1] if based_on else EAGER
        try:
            found = step_cost.cost(self.variants[variant], self.variants[below], ring, self.clock)
        except BaseException as error:
            del self.variants[variant]
            self._reject(variant, error, reference)
            return
        if found:
            with_it, without = found
            self.costly.add(variant)
            self.lines.warning(
                f"{LABELS[variant]} costs {with_it / without - 1:.0%} here: {with_it:.3g} ms with it, {without:.3g} ms "
                f"with {LABELS[below]} alone, before the timing. Later variants do not include it."
            )

    def _reserve_s(self, more: int = 0) -> float:
        """Seconds to reserve for sampling the ready variants and `more` others as fast as eager."""
        if self.deadline.limit_s is None or not self.variants:
            return 0.0
        calls_s = [entrant.call_s for entrant in self.variants.values()]
        calls_s += [self.variants[EAGER].call_s] * more
        wanted = sum(
            min(self.rule.time_cap_s, max(self.rule.min_seconds, self.rule.least_samples * s)) for s in calls_s
        )
        return min(SAMPLING_OVERHEAD * wanted, self.deadline.limit_s / 2)

    def _prepare_in_time(self, variant: VariantId, origin: Origin, trials: Trials) -> tuple[VariantId, ...]:
        """Prepares a variant within its share of the time that is left after the time for sampling."""
        reserve_s = self._reserve_s(more=1)
        rest = self.job.variants[self.job.variants.index(variant) :]
        if variant != MODEL_NEW and not self.snippet.has_model_new:
            rest = [other for other in rest if other != MODEL_NEW]
        seconds = share_s(rest, self.deadline.left_s() - reserve_s, SOON_S - self.deadline.passed_s())
        if variant == CONTROL:
            # Without it the noise floor is unknown. It takes as long as eager has.
            seconds = math.inf
        started = perf_counter()
        try:
            with self.deadline.reserving(reserve_s, seconds):
                return self._prepare(variant, origin, trials)
        except OutOfTimeError:
            self.variants.pop(variant, None)
            if self.deadline.left_s() <= reserve_s + 1.0:
                self.lines.unavailable(variant, left_out(self.deadline))
            else:
                taken_s = perf_counter() - started
                self.lines.unavailable(variant, _too_slow(taken_s, optional=is_optional(variant)))
            return ()

    def _check_input_dependence(self, trials: Trials) -> None:
        """Reports whether results may be independent of the inputs."""
        try:
            with self.deadline.reserving(self._reserve_s()):
                found = dependence_warnings(trials)
        except OutOfTimeError:
            found = ["It was not checked whether results depend on the inputs, because the job's time limit was near."]
        except BaseException as error:
            if not _lacks_memory(error):
                raise
            found = ["It was not checked whether results depend on the inputs, because that needs too much memory."]
        if len(trials.shapes) > 1:
            found = [*found, "get_inputs() returns other shapes each time, so each time is that of several shapes."]
        for text in found:
            self.lines.warning(text)

    def _prepare(self, variant: VariantId, origin: Origin, trials: Trials) -> tuple[VariantId, ...]:
        """Builds, checks and warms up a variant. It is timed only if all of that succeeds.

        Returns:
            The earlier variants that it is based on.
        """
        self.lines.step("compile", variant)
        started = perf_counter()
        try:
            compiles = self.device.type == "cpu" and variant not in (EAGER, CONTROL)
            with several_compilers() if compiles else nullcontext():
                built = self._with_memory(trials, lambda: self._built(variant, origin))
        except BaseException as error:
            self._not_built(variant, error, trials.reference)
            return ()
        built_s = perf_counter() - started
        try:
            self.lines.step("precision", variant)
            # A copy of Model needs no trial that would be computed again.
            among = trials.at_hand() if variant == CONTROL else None
            calls = EAGER_CALLS if variant in (EAGER, CONTROL) else math.inf
            checked = _Stopwatch(built.call)
            result = self._with_memory(trials, lambda: precision.check(checked, trials, among, calls))
            if result.reason is not None:
                because = self._cause(variant, built, trials)
                result = replace(result, reason=f"{subject(variant)} {result.reason}.{because}")
            self.lines.precision(variant, result)
            if not result.passed:
                self._without(variant)
                return ()
            self.lines.step("warm-up", variant)
            if self.device.type == "cpu" and WARM_SECONDS["cpu"] < checked.seconds < math.inf:
                # One-time work was done in earlier calls, and a processor needs no warm-up.
                warm_s, call_s = 0.0, checked.seconds
            else:
                # Model was called for every trial.
                calls = 1 if variant in (EAGER, CONTROL) else max(WARM_CALLS - result.seeds, 1)
                warm_s, call_s = self._with_memory(
                    trials, lambda: warm_up(built.call, origin.inputs, self.device, calls)
                )
            # On a processor, the variants that are built here use no stream, and replay no graph into the same memory.
            if variant in (EAGER, MODEL_NEW) or (self.device.type != "cpu" and variant != CONTROL):
                self._with_memory(trials, lambda: self._examine(built))
            self.lines.compile(variant, built_s + warm_s, built.based_on, built.includes)
        except BaseException as error:
            self._reject(variant, error, trials.reference)
            return ()
        if variant == "eager":
            self.eager_errors = result.outputs
            for output in result.outputs:
                if output.limit_used is not None and output.cosine < LEAST_COSINE:
                    self.lines.warning(_far_off(output, result.reference))
        eager = self.eager_behaviour
        # A result in the memory of an input changes with the input's contents.
        lasts = built.results_last and not (eager and (eager.reuses_memory or eager.returns_inputs))
        self.variants[variant] = Entrant(built.call, call_s, lasts)
        return built.based_on

    def _cause(self, variant: VariantId, built: BuiltVariant, trials: Trials) -> str:
        """A sentence about the cause for which results are too far from the reference, if it is known."""
        if variant == EAGER:
            return ""
        if trials.eager_is_random:
            return _OTHER_NUMBERS
        if not torch.backends.cudnn.allow_tf32:
            return ""
        torch.backends.cudnn.allow_tf32 = False
        try:
            return _TF32 if precision.check(built.call, trials).passed else ""
        except Exception:  # User code may raise anything; that it does not pass is reported already.
            return ""
        finally:
            torch.backends.cudnn.allow_tf32 = True

    def _built(self, variant: VariantId, origin: Origin) -> BuiltVariant:
        if variant == COMPILED and self.device.type == "cpu":
            cpp_headers.link()
            vector_isa.determine()
        is_out = COMPILED in self.job.variants and COMPILED not in self.variants
        idle = {*self.idle, COMPILED} if is_out else self.idle
        built = build(variant, origin, self.variants, self.costly, idle)
        if variant not in (EAGER, CONTROL, MODEL_NEW):
            # If a compiler fails, the variant is unavailable; its results are not wrong.
            results_of(built.call, cloned(list(origin.inputs)), 0)
        return built

    def _with_memory(self, trials: Trials, action: Callable[[], T]) -> T:
        """Runs an action; if the device's memory is full, frees what is cached and runs it once more."""
        try:
            return action()
        except BaseException as error:
            if not _lacks_memory(error):
                raise
        # Not within `except`, where the exception would hold the memory of the failed call.
        trials.forget()
        gc.collect()
        # Does nothing if no GPU is used.
        torch.cuda.empty_cache()
        return action()

    def _not_built(self, variant: VariantId, error: BaseException, reference: Reference) -> None:
        """Reports a variant that could not be built or called."""
        if isinstance(error, UnavailableError) and not self.deadline.has_expired:
            if isinstance(error, NothingToDoError):
                self.idle.add(variant)
            self.lines.unavailable(variant, str(error))
        elif variant == "model-new" or self.deadline.has_expired:
            self._reject(variant, error, reference)
        else:
            self.lines.unavailable(variant, _sentence(variant, error))

    def _examine(self, variant: BuiltVariant) -> None:
        """Rejects a variant that fails one of the checks of `snippet_checks`."""
        if reason := self._objection(variant.call, results_last=variant.results_last):
            raise precision.WrongResultError(reason)

    def _objection(self, call: Callable[..., Any], *, results_last: bool) -> str | None:
        """Why a variant fails a check of `snippet_checks` that eager, the first variant, passes; or None."""

        def measure() -> snippet_checks.Behaviour:
            return snippet_checks.observe(call, self.source, self.clock, results_last=results_last)

        def measure_eager() -> snippet_checks.Behaviour:
            return snippet_checks.observe(self.variants["eager"].call, self.source, self.clock)

        if self.eager_behaviour is None:
            self.eager_behaviour = measure()
            return None
        return snippet_checks.confirmed_objection(measure, measure_eager, self.eager_behaviour)

    def _without(self, variant: VariantId) -> None:
        """A variant did not pass. Eager is compared with itself, so it is not deterministic."""
        if variant == "eager":
            raise JobFailedError(_NOT_REPEATABLE)

    def _reject(self, variant: VariantId, error: BaseException, reference: Reference) -> None:
        """Reports that a variant is rejected. Without eager, the job fails."""
        if variant == "eager":
            if isinstance(error, OutOfTimeError):
                raise error
            raise JobFailedError(self._forward_failure(error, BESIDE_COPIES)) from error
        if isinstance(error, JobFailedError) and error.failure.code == "tampered":
            raise error
        if self.deadline.has_expired:
            raise OutOfTimeError from error
        reason = _sentence(variant, error)
        self.lines.precision(
            variant,
            Precision(passed=False, outputs=[], seeds=0, reference=reference.dtype, reason=reason),
        )

    def _forward_failure(self, error: BaseException, doing: str = "Model.forward") -> Failure:
        if isinstance(error, JobFailedError):
            return error.failure
        return self.snippet.failure(error, "forward-error", doing)


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, JobFailedError):
        return error.failure.code == "memory-limit"
    return is_out_of_memory(error)


def _far_off(output: OutputError, reference: str) -> str:
    """Warning about a gate that accepts almost any result."""
    return (
        f"Model's own output {output.name} is far from its reference in {reference}: their cosine is "
        f"{output.cosine:.3g}. Wrong results that are as far from it pass the precision gate."
    )


def _too_slow(seconds: float, *, optional: bool) -> str:
    if not optional:
        return f"Left out: its preparation was not complete after {seconds:.0f} s, its share of the job's time limit."
    if seconds < 1.0:
        return "Left out, so that the result is ready soon: the variants before it took long to prepare."
    return f"Left out, so that the result is ready soon: its preparation was not complete after {seconds:.0f} s."


def _sentence(variant: VariantId, error: BaseException) -> str:
    """The reason for which a variant is rejected, as a sentence."""
    if isinstance(error, JobFailedError):
        return error.failure.message
    if isinstance(error, (precision.WrongResultError, SlowedError)):
        return f"{subject(variant)} {error}."
    if is_out_of_memory(error):
        return f"{subject(variant)} needed more memory than this job may use."
    return f"{subject(variant)} raised {summary(error)}"


def _small(waiting: Sequence[VariantId]) -> str:
    """Warning about times that are limited by the host."""
    *others, last = (LABELS[variant] for variant in waiting)
    names = f"{', '.join(others)} and {last}" if others else last
    return (
        f"The device waits for the host in {names}: launching a call takes as long as running it. Such times depend on "
        "the host; use larger inputs to measure the device."
    )


def _clocks(hot_mhz: float | None, cold_mhz: float | None) -> str:
    """Why calls without a pause in between may be slower."""
    why = "consecutive calls let the device draw more power, so it lowers its clock"
    if hot_mhz is None or cold_mhz is None:
        return f"possibly {why}; the clock could not be read."
    if hot_mhz < cold_mhz:
        return f"{why}, {hot_mhz:.0f} MHz instead of {cold_mhz:.0f}."
    return f"its clock does not explain that, {hot_mhz:.0f} MHz and {cold_mhz:.0f}."


def sampling_s(deadline: Deadline, device: torch.device) -> float:
    """Seconds for the samples of all variants."""
    most_s = SAMPLING_S[device.type]
    if deadline.limit_s is None:
        return most_s
    soon_s = (READY_S - deadline.passed_s()) / WALL_FACTOR
    return min(max(soon_s, LEAST_SAMPLING_S), most_s)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        if device.type != "cpu":
            torch.cuda.get_device_properties(device)
    except (RuntimeError, AssertionError) as error:
        raise JobFailedError(
            Failure(
                "internal",
                f"This host has no device {name}: {summary(error)}",
                "Run `hipward doctor` to see the devices of this host.",
            )
        ) from error
    return device
