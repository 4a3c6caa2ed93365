"""Looks for results that are not computed where and when they are asked for.

Each probe is a question about one variant, asked before it is timed: does it remember results? does a later call write
over an earlier result? is what it returns its own? does its work end when it says so? Eager answers the same
questions first, and only what it does not do itself counts against another variant.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.numerics.nested import cloned, same_bits, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.timing import WatchfulClock

PAIRS = 7
SECONDS = 3.0
"""No pair is begun later. Calls so long that there is only one pair are also those that noise cannot change much."""

REMEMBERS = 3.0
"""A repeated call may be this much faster than the first, over what eager's is: caches of a processor explain less."""

CONFIRMATIONS = 2
"""An objection must hold so many more times, with eager asked anew each time."""

HIDDEN_SHARE = 0.25
HIDDEN_MS = 0.02
"""Work that goes on unseen counts when it is longer than both: a share of eager's time, and what waiting itself takes.
Shorter work is left to the comparison of results amid the timing, which copies them as soon as a call has ended."""


@dataclass(frozen=True)
class Habits:
    """What a variant does beside computing."""

    first_over_again: float
    """Time of a call with inputs that were never seen, over that of the same call again."""
    reuses_memory: bool
    """A later call writes over the memory of an earlier result."""
    returns_inputs: bool
    """A result lies in the memory of an input."""
    call_ms: float
    """Of the fastest first call."""
    hidden_ms: float
    """How long the device works on after the call's stream is done; waiting for it included."""


def habits(call: Callable[..., Any], snippet: Snippet, clock: WatchfulClock, *, results_last: bool = True) -> Habits:
    """Asks a variant that is warm; without `results_last`, not whether later calls write over earlier results."""
    started = perf_counter()
    first: list[float] = []
    again: list[float] = []
    reuses = returns_inputs = False
    hidden_ms: list[float] = []
    other = _fresh(snippet)
    with torch.no_grad():
        for pair in range(PAIRS):
            if pair and perf_counter() - started > SECONDS:
                break
            inputs = _fresh(snippet)
            kept = call(*other)
            before = cloned(kept) if results_last else None
            # The same buffers and the same contents twice.
            repeated = cloned(inputs)
            first += clock.samples(call, [inputs])[0]
            hidden_ms.append(clock.hidden_ms)
            times, result = clock.samples(call, [repeated if _changed(inputs, repeated) else inputs])
            again += times
            reuses |= results_last and not same_bits(before, kept)
            returns_inputs |= bool(_memory(result) & _memory(inputs))
            other = inputs
    # The fastest of each: whatever else runs on the host slows some calls, and none that computes is skipped.
    over_again = min(first) / max(min(again), 1e-6)
    return Habits(over_again, reuses, returns_inputs, min(first), median(hidden_ms))


def lasting_objection(ask: Callable[[], Habits], ask_eager: Callable[[], Habits], eager: Habits) -> str | None:
    """What a variant does that eager does not, each time it is asked: on a busy host one answer may be chance."""
    reason = objection(ask(), eager)
    for _ in range(CONFIRMATIONS):
        if reason is None:
            break
        reason = objection(ask(), ask_eager())
    return reason


def objection(habits_: Habits, eager: Habits) -> str | None:
    """What a variant does that eager does not, as the end of a sentence about it; or None."""
    # First: what another stream still writes looks like every other offence, too.
    if habits_.hidden_ms - eager.hidden_ms > max(HIDDEN_MS, HIDDEN_SHARE * eager.call_ms):
        return "was still at work on another stream when it was said to have ended"
    if habits_.first_over_again > REMEMBERS * max(eager.first_over_again, 1.0):
        return (
            f"takes {habits_.first_over_again:.0f} times as long for inputs that it sees for the first time: "
            "it remembers results"
        )
    if habits_.reuses_memory and not eager.reuses_memory:
        return "returned memory that its next call wrote over, so results do not last"
    if habits_.returns_inputs and not eager.returns_inputs:
        return "returned the memory of an input"
    return None


def _fresh(snippet: Snippet) -> list[Any]:
    return snippet.inputs(secrets.randbits(31))


def _changed(inputs: Sequence[Any], before: Sequence[Any]) -> bool:
    return not same_bits(list(inputs), list(before))


def _memory(value: Any) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors(value) if tensor.numel()}
