"""The precision gate: a variant with wrong results is not timed.

Each variant runs on inputs of several fresh seeds and is compared with the reference (`reference.py`). Its largest
and root mean square errors may be twice those of eager plus the error that rounding explains (`numerics/limit.py`).
NaN, infinity, all zeros, another shape, dtype or structure, and changed inputs do not pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.harness.lines import OutputError, Precision
from hipward_kernels.harness.trials import call_seeded
from hipward_kernels.numerics.distance import distance, is_finite
from hipward_kernels.numerics.limit import ERROR_RATIO
from hipward_kernels.numerics.nested import cloned, container_types, flatten, same_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hipward_kernels.harness.trials import Trial, Trials
    from hipward_kernels.numerics.limit import Limit

MOST_USED = 1e9
"""The largest reported share of the limit, also where no error is allowed, because JSON has no infinity."""


REPEATED = 0.01
"""How far two calls of Model with the same inputs and seed may be apart, relative to the result, where rounding
explains less: a deep model may add with atomics, in another order each time."""


class WrongResultError(Exception):
    """A variant's result does not pass. The message is the end of a sentence about the variant."""


def foreign_container(result: Any, containers: frozenset[type]) -> str | None:
    """Why a result's containers do not pass, as the end of a sentence: one of another class may compute when read."""
    foreign = container_types(result) - containers
    return next((f"returned its outputs in a {kind.__name__}; Model does not" for kind in foreign), None)


def check(
    call: Callable[..., Any], trials: Trials, among: Iterable[Trial] | None = None, calls: float = math.inf
) -> Precision:
    """Compares a variant with the reference on every seed, or `among` some. Exceptions of `call` are passed on.

    Model itself, or its copy, is called for `calls` of them. For the others, its results are in the trials.
    """
    worst: dict[str, OutputError] = {}
    seeds = 0
    reason = None
    for trial in trials if among is None else among:
        seeds += 1
        if seeds > calls:
            arguments, outputs = trial.inputs, trial.eager
        else:
            arguments = cloned(trial.inputs)
            result = call_seeded(call, arguments, trial.seed)
            if (reason := foreign_container(result, trials.containers)) is not None:
                break
            outputs = flatten(result)
            del result
            if calls < math.inf and not _repeats(outputs, trial):
                reason = "returned another result for the same inputs and seed"
                break
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


def _repeats(outputs: dict[str, Any], trial: Trial) -> bool:
    """Whether the results of another call of Model are those of the first, as far as their numbers can be compared."""
    for name, eager in trial.eager.items():
        got = outputs.get(name)
        if not (isinstance(eager, Tensor) and isinstance(got, Tensor) and got.shape == eager.shape):
            continue
        if eager.is_floating_point() or eager.is_complex():
            apart = distance(got, eager)
            size = apart.expected_rms
            if apart.rms > max(trial.limit.allowed(eager.dtype, 0.0, size), REPEATED * size):
                return False
    return True


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
        rms = trial.limit.allowed(eager.dtype, baseline.error.rms, baseline.error.expected_rms)
        max_abs = trial.limit.allowed(eager.dtype, baseline.error.max_abs, baseline.largest)
        floating = eager.is_floating_point() or eager.is_complex()
        found = baseline.error if got is eager else distance(got, expected, max_abs if floating else 0.0)
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
        apart = distance(got, expected)
        if apart.rms > limit.allowed(expected.dtype, error.eager_rms, apart.expected_rms, 1 + ERROR_RATIO):
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
