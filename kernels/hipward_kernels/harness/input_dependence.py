"""Detects models whose results do not depend on their inputs.

The gate compares results for new inputs, so it detects a variant that ignores its inputs or caches results, unless the
right result is the same for all inputs. That is no error, but a reader of the result must know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from hipward_kernels.harness.precision import passes
from hipward_kernels.numerics.nested import flatten, same_bits

if TYPE_CHECKING:
    from hipward_kernels.harness.trials import Trial, Trials

_CONSEQUENCE = "so a variant that ignores its inputs, or caches a result, cannot be recognized."
_AS_FAR = "as far as the precision gate can tell,"


def dependence_warnings(trials: Trials) -> list[str]:
    """Warnings for a result; empty if results of different inputs differ."""
    # Each trial is compared with the inputs of the next, so that few are in memory; they may be large.
    if all(_same(one, other) for one, other in trials.pairs_of_inputs()):
        return [f"get_inputs() returns the same values each time, {_CONSEQUENCE}"]
    # Both are found in one pass, because a large trial is computed again each time.
    is_constant = is_an_input = True
    for one, others in trials.with_next_results():
        is_constant = is_constant and passes(others, one)
        is_an_input = is_an_input and _is_an_input(one)
        if not (is_constant or is_an_input):
            break
    if is_constant:
        return [f"Model's results for different inputs are the same, {_AS_FAR} {_CONSEQUENCE}"]
    # The last trial has no next one.
    if is_an_input and all(_is_an_input(trial) for trial in trials):
        return [
            f"Model's result is the same as its input, {_AS_FAR} so a variant that does nothing cannot be recognized."
        ]
    return []


def _is_an_input(trial: Trial) -> bool:
    """Whether one of the inputs would pass as the result."""
    (name, output), *others = trial.eager.items()
    return not others and any(
        isinstance(each, Tensor) and each.shape == output.shape and passes({name: each}, trial)
        for each in flatten(trial.inputs).values()
    )


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists of arguments are equal; objects other than tensors and strings are compared by identity."""
    one, other = flatten(first), flatten(second)
    return one.keys() == other.keys() and all(_same_leaf(value, other[name]) for name, value in one.items())


def _same_leaf(value: Any, other: Any) -> bool:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return same_bits(value, other)
    return value is other or (isinstance(value, str) and value == other)
