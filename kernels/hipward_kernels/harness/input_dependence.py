"""What a snippet leaves open even where every check passed: whether a result has to be computed at all.

The gate compares results of fresh inputs, so what ignores its inputs, or is remembered, stands out: unless the right
result is the same for all of them. That is the author's choice and no offence, but a reader must know it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from torch import Tensor

from hipward_kernels.harness.precision import passes, run
from hipward_kernels.numerics.nested import cloned, flatten, same_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hipward_kernels.harness.precision import Trial

_SO = "so a variant that ignores its inputs, or remembers a result, cannot be told from one that computes."


def doubts(eager: Callable[..., Any], trials: Iterable[Trial]) -> list[str]:
    """Sentences for a reader; none where the gate tells results of different inputs apart."""
    # Each trial with the next: no more than two are in memory at a time, and they may be large.
    if all(_same(one.inputs, other.inputs) for one, other in itertools.pairwise(trials)):
        return [f"get_inputs() gives the same values each time, {_SO}"]
    # With the generators as they were for the other inputs: a model may draw numbers, too.
    if all(passes(run(eager, cloned(other.inputs), one.seed), one) for one, other in itertools.pairwise(trials)):
        return [f"Model's results for different inputs are the same, as far as the precision gate can tell, {_SO}"]
    return []


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists of arguments hold the same; objects that are no tensors are the same only as one object."""
    one, other = flatten(first), flatten(second)
    return one.keys() == other.keys() and all(_same_leaf(value, other[name]) for name, value in one.items())


def _same_leaf(value: Any, other: Any) -> bool:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return same_bits(value, other)
    return value is other or (isinstance(value, str) and value == other)
