"""The precision gate: a variant with wrong results is not timed.

Each variant runs on inputs of several fresh seeds and is compared with the reference (`reference.py`). Its largest
and root mean square errors may be twice those of eager plus the error that rounding explains (`numerics/limit.py`).
NaN, infinity, all zeros, another shape, dtype or structure, and changed inputs do not pass.
"""

from __future__ import annotations

import itertools
import math
import resource
import secrets
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.harness.contract import seed_everything
from hipward_kernels.harness.failure import JobFailedError, in_words
from hipward_kernels.harness.lines import Failure, OutputError, Precision
from hipward_kernels.numerics.distance import distance, is_finite, largest, root_mean_square
from hipward_kernels.numerics.limit import ERROR_RATIO
from hipward_kernels.numerics.nested import (
    cloned,
    container_types,
    flatten,
    same_bits,
    size_in_bytes,
    tensors,
    unsupported_form,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.reference import Reference
    from hipward_kernels.numerics.distance import Distance
    from hipward_kernels.numerics.limit import Limit

SEEDS = 5
FEWEST_SEEDS = 2
SEED_SECONDS = 4.0
SEED_SHARE = 0.05
"""Time of a trial from which on fewer seeds are used, in seconds, and as a share of the time that is left to the job:
all trials together take about `SEEDS` times the smaller of the two."""

MOST_USED = 1e9
"""The largest reported share of the limit, also where no error is allowed, because JSON has no infinity."""

MAX_OUTPUTS = 1000
"""Outputs of a call that can be compared. The line with their errors is limited too."""

CACHE_BYTES = 512 * 1024 * 1024
"""Most memory for cached trials. Trials beyond it are computed again for each variant."""
UNCACHED_SECONDS = 0.5
"""Time of a trial from which on only cached trials are used, if there are `FEWEST_SEEDS` of them."""
CACHE_SHARE = 1 / 8
"""The same as a share of a GPU's memory, or of a job's memory limit, where that is more."""


class WrongResultError(Exception):
    """A variant's result does not pass. The message is the end of a sentence about the variant."""


@dataclass(frozen=True)
class Baseline:
    """Size of a reference output, and eager's error in it."""

    error: Distance
    """Distance of eager's output from the reference."""
    rms: float
    """Root mean square of the reference."""
    largest: float
    """Largest absolute value of the reference."""


@dataclass(frozen=True)
class Trial:
    """One seed: inputs, the reference's outputs and eager's."""

    seed: int
    inputs: list[Any]
    reference: dict[str, Any]
    eager: dict[str, Any]
    limit: Limit
    _baselines: dict[str, Baseline] = field(default_factory=dict)

    def baseline(self, name: str) -> Baseline:
        """The baseline of an output, computed once."""
        if name not in self._baselines:
            reference = self.reference[name]
            error = distance(self.eager[name], reference, 0.0)
            self._baselines[name] = Baseline(error, root_mean_square(reference), largest(reference))
        return self._baselines[name]


class Trials:
    """Trials of the seeds that variants are compared on."""

    def __init__(
        self,
        snippet: Snippet,
        eager: Callable[..., Any],
        reference: Reference,
        seeds: int = SEEDS,
        left_s: float = math.inf,
    ) -> None:
        """`left_s`: the time that is left to the job, in seconds."""
        self.reference = reference
        self.seeds = [secrets.randbits(31) for _ in range(seeds)]
        self.eager_changes_inputs = False
        self.eager_is_random = False
        """Whether results change with the seed of the random number generators."""
        self.containers: frozenset[type] = frozenset()
        """Types of the containers of eager's results (`container_types`)."""
        self._snippet = snippet
        self._eager = eager
        self._cached: dict[int, Trial] = {}
        self._cached_bytes = 0
        self._seed_seconds = min(SEED_SECONDS, SEED_SHARE * max(left_s, 0.0))

    def __iter__(self) -> Iterator[Trial]:
        for index in range(SEEDS):
            # The number of seeds may become smaller in the first iteration.
            if index < len(self.seeds):
                seed = self.seeds[index]
                yield self._cached.get(seed) or self._run(seed)

    def inputs(self, seed: int) -> list[Any]:
        """The inputs of a seed."""
        trial = self._cached.get(seed)
        return trial.inputs if trial else self._snippet.inputs(seed)

    def pairs_of_inputs(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Inputs of each seed and of the next."""
        return ((self.inputs(seed), self.inputs(after)) for seed, after in itertools.pairwise(self.seeds))

    def with_next_inputs(self) -> Iterator[tuple[Trial, list[Any]]]:
        """Each trial, with the inputs of the next seed."""
        following = itertools.pairwise(self.seeds)
        return ((self._cached.get(seed) or self._run(seed), self.inputs(after)) for seed, after in following)

    def look_for_randomness(self) -> None:
        """Sets `eager_is_random`: calls the model again with another seed."""
        seed = self.seeds[0]
        inputs = self.inputs(seed)
        trial = self._cached.get(seed)
        results = trial.eager if trial else run(self._eager, cloned(inputs), seed)
        self.eager_is_random = not same_bits(run(self._eager, cloned(inputs), seed + 1), results)

    def forget(self) -> None:
        """Frees the memory of the cached trials."""
        self._cached.clear()
        self._cached_bytes = 0

    def _run(self, seed: int) -> Trial:
        started = perf_counter()
        inputs = self._snippet.inputs(seed)
        arguments = cloned(inputs)
        try:
            result = _called(self._eager, arguments, seed)
            self.containers |= container_types(result)
            eager = flatten(result)
            del result
            _refuse_other_forms(eager)
            self.eager_changes_inputs |= not same_bits(arguments, inputs)
            # Frees memory that the reference may need.
            del arguments
        except JobFailedError:
            raise
        except BaseException as error:
            failure = self._snippet.failure(error, "forward-error", "Model.forward")
            raise JobFailedError(failure) from error
        _refuse_other_numbers(eager)
        for name, value in eager.items():
            if isinstance(value, Tensor) and not is_finite(value):
                raise JobFailedError(
                    Failure(
                        "not-finite",
                        f"Output {name} of Model contains NaN or infinity, so nothing can be compared with it.",
                        "Look for a division by zero, an overflow of float16, or a mask that leaves a row empty.",
                    )
                )
        try:
            reference = self.reference(inputs, seed)
        except Exception as error:
            failure = in_words(error, "forward-error", "Model.forward in float64", device=self._snippet.device.type)
            raise JobFailedError(failure) from error
        if seed == self.seeds[0]:
            seconds = perf_counter() - started
            most = self._seed_seconds
            self.seeds = self.seeds[: max(int(SEEDS * most / max(seconds, most)), FEWEST_SEEDS)]
        trial = Trial(seed, inputs, reference, eager, self.reference.limit)
        size = size_in_bytes([inputs, reference, eager])
        if self._cached_bytes + size <= _most_bytes(tensors(eager)[0].device):
            self._cached_bytes += size
            self._cached[seed] = trial
        elif perf_counter() - started > UNCACHED_SECONDS:
            self.seeds = self.seeds[: max(self.seeds.index(seed), FEWEST_SEEDS)]
        return trial


def _refuse_other_forms(outputs: dict[str, Any]) -> None:
    for name, value in outputs.items():
        if isinstance(value, Tensor) and (form := unsupported_form(value)):
            raise JobFailedError(
                Failure(
                    "contract-missing",
                    f"Output {name} of Model.forward is a {form} tensor; only dense tensors can be compared.",
                    "Convert it in forward, for example with `to_dense()`.",
                )
            )


def _refuse_other_numbers(outputs: dict[str, Any]) -> None:
    if len(outputs) > MAX_OUTPUTS:
        raise JobFailedError(
            Failure(
                "contract-missing",
                f"Model.forward returned {len(outputs):,} outputs; at most {MAX_OUTPUTS:,} can be compared.",
                "Return one tensor with their values, for example with `torch.stack`.",
            )
        )
    if not any(isinstance(value, Tensor) for value in outputs.values()):
        held = sorted({"None" if value is None else f"a {type(value).__name__}" for value in outputs.values()})
        raise JobFailedError(
            Failure(
                "contract-missing",
                f"Model.forward returned {' and '.join(held) or 'nothing'}, so there is no tensor to compare.",
                "Return a tensor, or tensors in a tuple, list, dictionary or dataclass.",
            )
        )


def _most_bytes(device: torch.device) -> float:
    if device.type == "cuda":
        return max(CACHE_BYTES, CACHE_SHARE * torch.cuda.get_device_properties(device).total_memory)
    # The runner's memory limit.
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return CACHE_BYTES if limit == resource.RLIM_INFINITY else max(CACHE_BYTES, CACHE_SHARE * limit)


def run(call: Callable[..., Any], arguments: Sequence[Any], seed: int) -> dict[str, Any]:
    """Calls a variant with seeded random number generators and returns its outputs by name."""
    return flatten(_called(call, arguments, seed))


def _called(call: Callable[..., Any], arguments: Sequence[Any], seed: int) -> Any:
    seed_everything(seed)
    with torch.no_grad():
        return call(*arguments)


def foreign_container(result: Any, containers: frozenset[type]) -> str | None:
    """Why a result's containers do not pass, as the end of a sentence: one of another class may compute when read."""
    foreign = container_types(result) - containers
    return next((f"returned its outputs in a {kind.__name__}; Model does not" for kind in foreign), None)


def check(call: Callable[..., Any], trials: Trials) -> Precision:
    """Compares a variant with the reference on every seed. Exceptions of `call` are passed on."""
    worst: dict[str, OutputError] = {}
    seeds = 0
    reason = None
    for trial in trials:
        arguments = cloned(trial.inputs)
        result = _called(call, arguments, trial.seed)
        seeds += 1
        if (reason := foreign_container(result, trials.containers)) is not None:
            break
        outputs = flatten(result)
        del result
        errors, reason = _judge(outputs, trial)
        for error in errors:
            worst[error.name] = _worse(worst.get(error.name, error), error)
        if reason is None and not trials.eager_changes_inputs and not same_bits(arguments, trial.inputs):
            reason = "changed its inputs, which Model leaves as they are"
        if reason is not None:
            break
        # Frees memory that the next trial may need.
        del trial, arguments, outputs
    return Precision(reason is None, list(worst.values()), seeds, trials.reference.dtype, reason)


def passes(outputs: dict[str, Any], trial: Trial) -> bool:
    """Whether the gate accepts these as the results of a trial."""
    return _judge(outputs, trial)[1] is None


def _judge(outputs: dict[str, Any], trial: Trial) -> tuple[list[OutputError], str | None]:
    """Errors of each output tensor, as far as they can be computed, and why they do not pass."""
    try:
        compared = compare(outputs, trial)
    except WrongResultError as error:
        return [], str(error)
    return [each.error for each in compared], next((reason for each in compared if (reason := each.reason())), None)


@dataclass(frozen=True)
class Comparison:
    """Errors of one output tensor, and the errors that pass."""

    error: OutputError
    allowed_max_abs: float
    allowed_rms: float
    eager_mismatch: float
    """Share of eager's elements that differ from the reference."""

    def reason(self) -> str | None:
        """Why the errors are too large, as the end of a sentence about the variant; None if they pass."""
        error = self.error
        if error.limit_used is None:
            if error.mismatch <= ERROR_RATIO * self.eager_mismatch:
                return None
            return (
                f"is too far from the reference: {error.mismatch:.2%} of output {error.name} differ, "
                f"{self.eager_mismatch:.2%} of eager's"
            )
        for norm, mine, eager, allowed in (
            ("largest", error.max_abs, error.eager_max_abs, self.allowed_max_abs),
            ("root mean square", error.rms, error.eager_rms, self.allowed_rms),
        ):
            if mine > allowed:
                return (
                    f"is too far from the reference: the {norm} error of output {error.name} is {mine:.3g}, the limit "
                    f"{allowed:.3g}: twice eager's own, {eager:.3g}, and the rounding of a sum as long as Model's"
                )
        return None


def compare(outputs: dict[str, Any], trial: Trial) -> list[Comparison]:
    """Compares each output tensor with the reference.

    Raises:
        WrongResultError: The outputs cannot be compared at all.
    """
    if outputs.keys() != trial.eager.keys():
        raise WrongResultError(f"returned the outputs {', '.join(outputs)}; Model returns {', '.join(trial.eager)}")
    compared = []
    for name, eager in trial.eager.items():
        got, expected = outputs[name], trial.reference[name]
        if not isinstance(eager, Tensor):
            if type(got) is not type(eager):
                raise WrongResultError(
                    f"returned a {type(got).__name__} as output {name}; Model returns a {type(eager).__name__}"
                )
            continue
        got = _checked(name, got, eager)
        baseline = trial.baseline(name)
        rms = trial.limit.allowed(eager.dtype, baseline.error.rms, baseline.rms)
        max_abs = trial.limit.allowed(eager.dtype, baseline.error.max_abs, baseline.largest)
        floating = eager.is_floating_point() or eager.is_complex()
        found = distance(got, expected, max_abs if floating else 0.0)
        error = OutputError(
            name=name,
            shape=list(got.shape),
            dtype=str(got.dtype).removeprefix("torch."),
            cosine=found.cosine,
            max_abs=found.max_abs,
            rms=found.rms,
            eager_max_abs=baseline.error.max_abs,
            eager_rms=baseline.error.rms,
            mismatch=found.mismatch,
            limit_used=max(_share(found.rms, rms), _share(found.max_abs, max_abs)) if floating else None,
        )
        compared.append(Comparison(error, max_abs, rms, baseline.error.mismatch))
    return compared


def _share(error: float, allowed: float) -> float:
    """Share of the allowed error, at most `MOST_USED`."""
    if error > allowed * MOST_USED:
        return MOST_USED
    return error / allowed if allowed else 0.0


def compare_with_eager(
    outputs: dict[str, Any], eager: dict[str, Any], gate: Sequence[OutputError], limit: Limit
) -> None:
    """Compares a result with eager's for the same inputs, without computing a reference.

    A result whose error is as large as the gate allows, in the opposite direction of eager's, still passes.

    Args:
        outputs: The variant's outputs by name.
        eager: Eager's outputs by name.
        gate: Eager's errors, as the gate measured them.
        limit: The gate's limit.

    Raises:
        WrongResultError: The result does not belong to these inputs.
    """
    for error in gate:
        expected = eager[error.name]
        got = _checked(error.name, outputs.get(error.name), expected)
        if not (expected.is_floating_point() or expected.is_complex()):
            continue
        allowed = limit.allowed(expected.dtype, error.eager_rms, root_mean_square(expected), 1 + ERROR_RATIO)
        if distance(got, expected, 0.0).rms > allowed:
            raise WrongResultError(f"returned output {error.name} of other inputs, or changed it")


def _checked(name: str, got: Any, eager: Tensor) -> Tensor:
    """Returns `got` if it is a tensor of eager's form with plausible values; raises otherwise."""
    if not isinstance(got, Tensor):
        raise WrongResultError(f"returned a {type(got).__name__} as output {name}, not a tensor")
    if type(got) not in (Tensor, torch.nn.Parameter, type(eager)):
        raise WrongResultError(f"returned a {type(got).__name__} as output {name}, not a plain tensor")
    for what, mine, theirs in (
        ("shape", list(got.shape), list(eager.shape)),
        ("dtype", got.dtype, eager.dtype),
        ("device", got.device, eager.device),
    ):
        if mine != theirs:
            raise WrongResultError(f"returned output {name} with {what} {mine}; Model returns {what} {theirs}")
    if _shares(got) and not _shares(eager):
        raise WrongResultError(f"returned output {name} with elements that share memory; Model writes each element")
    if not is_finite(got):
        raise WrongResultError(f"returned NaN or infinity in output {name}; Model does not")
    if not got.any() and eager.any():
        raise WrongResultError(f"returned all zeros as output {name}; Model does not")
    return got


def _shares(x: Tensor) -> bool:
    """Whether elements share memory, as those of an expanded tensor do."""
    return any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride(), strict=True))


def _worse(a: OutputError, b: OutputError) -> OutputError:
    return replace(
        a,
        cosine=min(a.cosine, b.cosine),
        max_abs=max(a.max_abs, b.max_abs),
        rms=max(a.rms, b.rms),
        eager_max_abs=max(a.eager_max_abs, b.eager_max_abs),
        eager_rms=max(a.eager_rms, b.eager_rms),
        mismatch=max(a.mismatch, b.mismatch),
        limit_used=None if a.limit_used is None or b.limit_used is None else max(a.limit_used, b.limit_used),
    )
