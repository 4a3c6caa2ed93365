"""The precision gate: a variant whose results are wrong is not timed.

Each variant runs on inputs of several fresh seeds and is compared with the reference (`reference.py`). Its largest
and root mean square errors may be twice those of eager plus what rounding explains (`limit.py`); NaN, infinity,
all zeros, another shape, dtype or structure, and changed inputs do not pass.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.harness.contract import seed_everything
from hipward_kernels.harness.failure import JobFailedError, in_words
from hipward_kernels.harness.lines import Failure, OutputError, Precision
from hipward_kernels.numerics.distance import distance, is_finite, largest, root_mean_square
from hipward_kernels.numerics.limit import ERROR_RATIO
from hipward_kernels.numerics.nested import cloned, flatten, same_bits, size_in_bytes, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.reference import Reference
    from hipward_kernels.numerics.distance import Distance
    from hipward_kernels.numerics.limit import Limit

SEEDS = 5

MOST_USED = 1e9
"""The largest share of the limit that is reported, also where no error is allowed: JSON has no infinity."""

KEPT_BYTES = 512 * 1024 * 1024
"""Trials are kept in memory up to this size, and computed again for each variant past it."""
KEPT_SHARE = 1 / 8
"""Of a GPU's memory, where that is more."""


class WrongResultError(Exception):
    """A variant's result does not pass; the message is a sentence about it, without its subject."""


@dataclass(frozen=True)
class Baseline:
    """What every other result of a trial is held against, for one output."""

    error: Distance
    """Eager's, from the reference."""
    rms: float
    """Of the reference."""
    largest: float
    """Of the reference."""


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
        """That of an output; computed once."""
        if name not in self._baselines:
            reference = self.reference[name]
            error = distance(self.eager[name], reference, 0.0)
            self._baselines[name] = Baseline(error, root_mean_square(reference), largest(reference))
        return self._baselines[name]


class Trials:
    """The seeds that variants are compared on."""

    def __init__(self, snippet: Snippet, eager: Callable[..., Any], reference: Reference, seeds: int = SEEDS) -> None:
        self.reference = reference
        self.seeds = [secrets.randbits(31) for _ in range(seeds)]
        self.eager_changes_inputs = False
        self._snippet = snippet
        self._eager = eager
        self._kept: dict[int, Trial] = {}
        self._kept_bytes = 0

    def __iter__(self) -> Iterator[Trial]:
        for seed in self.seeds:
            yield self._kept.get(seed) or self._run(seed)

    def _run(self, seed: int) -> Trial:
        inputs = self._snippet.inputs(seed)
        arguments = cloned(inputs)
        try:
            eager = run(self._eager, arguments, seed)
            self.eager_changes_inputs |= not same_bits(arguments, inputs)
            # The reference may need their memory.
            del arguments
        except BaseException as error:
            failure = self._snippet.failure(error, "forward-error", "Model.forward")
            raise JobFailedError(failure) from error
        if not any(isinstance(value, Tensor) for value in eager.values()):
            held = sorted({"None" if value is None else f"a {type(value).__name__}" for value in eager.values()})
            raise JobFailedError(
                Failure(
                    "contract-missing",
                    f"Model.forward returned {' and '.join(held) or 'nothing'}, no tensor that could be compared.",
                    "Return a tensor, or tensors in a tuple, list, dictionary or dataclass.",
                )
            )
        for name, value in eager.items():
            if isinstance(value, Tensor) and not is_finite(value):
                raise JobFailedError(
                    Failure(
                        "not-finite",
                        f"Output {name} of Model holds NaN or infinity, so nothing can be compared with it.",
                        "Look for a division by zero, an overflow of float16, or a mask that leaves a row empty.",
                    )
                )
        try:
            reference = self.reference(inputs, seed)
        except Exception as error:
            raise JobFailedError(in_words(error, "forward-error", "Model.forward in float64")) from error
        trial = Trial(seed, inputs, reference, eager, self.reference.limit)
        size = size_in_bytes([inputs, reference, eager])
        if self._kept_bytes + size <= _most_bytes(tensors(eager)[0].device):
            self._kept_bytes += size
            self._kept[seed] = trial
        return trial


def _most_bytes(device: torch.device) -> float:
    if device.type != "cuda":
        return KEPT_BYTES
    return max(KEPT_BYTES, KEPT_SHARE * torch.cuda.get_device_properties(device).total_memory)


def run(call: Callable[..., Any], arguments: Sequence[Any], seed: int) -> dict[str, Any]:
    """Calls a variant with seeded generators; its outputs by name."""
    seed_everything(seed)
    with torch.no_grad():
        return flatten(call(*arguments))


def check(call: Callable[..., Any], trials: Trials) -> Precision:
    """Compares a variant with the reference on every seed. Whatever `call` raises is raised."""
    worst: dict[str, OutputError] = {}
    seeds = 0
    reason = None
    for trial in trials:
        arguments = cloned(trial.inputs)
        outputs = run(call, arguments, trial.seed)
        seeds += 1
        errors, reason = _judge(outputs, trial)
        for error in errors:
            worst[error.name] = _worse(worst.get(error.name, error), error)
        if reason is None and not trials.eager_changes_inputs and not same_bits(arguments, trial.inputs):
            reason = "changed its inputs, which Model leaves as they are"
        if reason is not None:
            break
        # The next trial may need their memory.
        del trial, arguments, outputs
    return Precision(reason is None, list(worst.values()), seeds, trials.reference.dtype, reason)


def passes(outputs: dict[str, Any], trial: Trial) -> bool:
    """Whether the gate takes these as the results of a trial."""
    return _judge(outputs, trial)[1] is None


def _judge(outputs: dict[str, Any], trial: Trial) -> tuple[list[OutputError], str | None]:
    """Errors of each output tensor, as far as they can be told, and why they do not pass."""
    try:
        errors = compare(outputs, trial)
    except WrongResultError as error:
        return [], str(error)
    return errors, next((reason for e in errors if (reason := _too_far(e, trial))), None)


def compare(outputs: dict[str, Any], trial: Trial) -> list[OutputError]:
    """Errors of each output tensor.

    Raises:
        WrongResultError: The outputs cannot be compared at all.
    """
    if outputs.keys() != trial.eager.keys():
        raise WrongResultError(f"returned the outputs {', '.join(outputs)}; Model returns {', '.join(trial.eager)}")
    errors = []
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
        furthest = trial.limit.allowed(eager.dtype, baseline.error.max_abs, baseline.largest)
        floating = eager.is_floating_point() or eager.is_complex()
        error = distance(got, expected, furthest if floating else 0.0)
        errors.append(
            OutputError(
                name=name,
                shape=list(got.shape),
                dtype=str(got.dtype).removeprefix("torch."),
                cosine=error.cosine,
                max_abs=error.max_abs,
                rms=error.rms,
                eager_max_abs=baseline.error.max_abs,
                eager_rms=baseline.error.rms,
                mismatch=error.mismatch,
                limit_used=max(_share(error.rms, rms), _share(error.max_abs, furthest)) if floating else None,
            )
        )
    return errors


def _share(error: float, allowed: float) -> float:
    """Of what is allowed."""
    if error > allowed * MOST_USED:
        return MOST_USED
    return error / allowed if allowed else 0.0


def compare_with_eager(
    outputs: dict[str, Any], eager: dict[str, Any], gate: Sequence[OutputError], limit: Limit
) -> None:
    """Compares a result with eager's for the same inputs, without computing a reference.

    What is as far from the reference as the gate allows, on the other side of it than eager, still passes.
    `gate` has eager's errors, and `limit` is the gate's.

    Raises:
        WrongResultError: The result is not that of these inputs.
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
    """`got`, if it is a tensor of eager's form with plausible values."""
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
        raise WrongResultError(
            f"returned output {name} as one piece of memory that stands for many; Model writes it all"
        )
    if not is_finite(got):
        raise WrongResultError(f"returned NaN or infinity in output {name}; Model does not")
    if not got.any() and eager.any():
        raise WrongResultError(f"returned all zeros as output {name}; Model does not")
    return got


def _shares(x: Tensor) -> bool:
    """Whether elements share memory, as an expanded tensor's do."""
    return any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride(), strict=True))


def _too_far(error: OutputError, trial: Trial) -> str | None:
    """Why the error is too large, or None."""
    baseline = trial.baseline(error.name)
    if error.limit_used is None:
        exact = baseline.error.mismatch
        if error.mismatch <= ERROR_RATIO * exact:
            return None
        return (
            f"is too far from the reference: {error.mismatch:.2%} of output {error.name} differ, {exact:.2%} of eager's"
        )
    for what, mine, theirs, size in (
        ("largest", error.max_abs, error.eager_max_abs, baseline.largest),
        ("root mean square", error.rms, error.eager_rms, baseline.rms),
    ):
        allowed = trial.limit.allowed(trial.eager[error.name].dtype, theirs, size)
        if mine > allowed:
            return (
                f"is too far from the reference: the {what} error of output {error.name} is {mine:.3g}; "
                f"eager's own is {theirs:.3g}, so {allowed:.3g} is allowed"
            )
    return None


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
