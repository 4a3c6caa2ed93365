"""Checks a variant before it is timed: cached results, reused memory, returned inputs, and work on other streams.

Eager is checked first. Behaviour that eager shows itself does not count against another variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.numerics.nested import cloned, same_bits, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hipward_kernels.harness.inputs import Source
    from hipward_kernels.harness.timing import WatchfulClock

PAIRS = 7
SECONDS = 0.3
"""Time after which no further pair of calls begins. Calls that are so long that there is only one pair are hardly
affected by noise."""

CACHED_SPEEDUP = 3.0
"""Factor by which a repeated call may be faster than the first, relative to eager; processor caches explain less."""

CONFIRMATIONS = 2
"""Number of times that a failed check is repeated, with eager measured again each time."""

HIDDEN_SHARE = 0.25
HIDDEN_MS = 0.02
"""Hidden work counts if it is longer than both: a share of eager's time, and the duration of waiting itself. Shorter
work is found by the comparison of results during the timing, which copies them as soon as a call ends."""


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of a variant beside its results."""

    first_over_again: float
    """Time of a call with new inputs, relative to that of the same call again."""
    reuses_memory: bool
    """A later call overwrites the memory of an earlier result."""
    returns_inputs: bool
    """A result is in the memory of an input."""
    call_ms: float
    """Time of the fastest call with new inputs."""
    hidden_ms: float
    """Duration of the device's work after the call's stream is idle, including the wait."""


def observe(call: Callable[..., Any], source: Source, clock: WatchfulClock, *, results_last: bool = True) -> Behaviour:
    """Observes a warm variant. Without `results_last`, overwritten results are not checked."""
    started = perf_counter()
    first: list[float] = []
    again: list[float] = []
    reuses = returns_inputs = False
    hidden_ms: list[float] = []
    other = source.fresh()
    with torch.no_grad():
        for pair in range(PAIRS):
            if pair and perf_counter() - started > SECONDS:
                break
            inputs = source.fresh()
            kept = call(*other)
            before = cloned(kept) if results_last else None
            # The same buffers with the same contents, twice.
            repeated = cloned(inputs)
            first += clock.samples(call, [inputs])[0]
            hidden_ms.append(clock.hidden_ms)
            times, result = clock.samples(call, [repeated if _changed(inputs, repeated) else inputs])
            again += times
            reuses |= results_last and not same_bits(before, kept)
            returns_inputs |= bool(_memory(result) & _memory(inputs))
            other = inputs
    # The fastest of each, because other programs on the host slow down some calls.
    over_again = min(first) / max(min(again), 1e-6)
    return Behaviour(over_again, reuses, returns_inputs, min(first), median(hidden_ms))


def confirmed_objection(
    measure: Callable[[], Behaviour], measure_eager: Callable[[], Behaviour], eager: Behaviour
) -> str | None:
    """An objection that each repetition confirms, because a single one may be due to a busy host."""
    reason = objection(measure(), eager)
    for _ in range(CONFIRMATIONS):
        if reason is None:
            break
        reason = objection(measure(), measure_eager())
    return reason


def objection(behaviour: Behaviour, eager: Behaviour) -> str | None:
    """Why a variant is rejected, as the end of a sentence about it; None if eager behaves in the same way."""
    # Checked first, because writes of another stream may also cause the other symptoms.
    if behaviour.hidden_ms - eager.hidden_ms > max(HIDDEN_MS, HIDDEN_SHARE * eager.call_ms):
        return "was still running on another stream when its call had ended"
    if behaviour.first_over_again > CACHED_SPEEDUP * max(eager.first_over_again, 1.0):
        return (
            f"takes {behaviour.first_over_again:.0f} times as long for new inputs as for repeated ones: "
            "it caches results"
        )
    if behaviour.reuses_memory and not eager.reuses_memory:
        return "returned memory that its next call overwrote"
    if behaviour.returns_inputs and not eager.returns_inputs:
        return "returned the memory of an input"
    return None


def _changed(inputs: Sequence[Any], before: Sequence[Any]) -> bool:
    return not same_bits(list(inputs), list(before))


def _memory(value: Any) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors(value) if tensor.numel()}
