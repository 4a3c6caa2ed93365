"""Interleaved timing of the variants that passed the gate, with checks of some results during the timing.

A variant is rejected if it fails here, if its results are wrong only while it is timed, or if the device was throttled
in every turn.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.contract import seed_everything
from hipward_kernels.harness.deadline import OutOfTimeError
from hipward_kernels.harness.failure import JobFailedError
from hipward_kernels.harness.object_seals import ObjectSeals
from hipward_kernels.harness.precision import WrongResultError, compare_with_eager, foreign_container
from hipward_kernels.harness.sampling import Dropped, interleave
from hipward_kernels.harness.snippet_checks import CACHED_SPEEDUP
from hipward_kernels.harness.tamper import tampered
from hipward_kernels.harness.trials import results_of
from hipward_kernels.harness.variants import CONTROL, EAGER, MODEL_NEW
from hipward_kernels.numerics.nested import cloned, copied, flatten, same_bits, size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.deadline import Deadline
    from hipward_kernels.harness.inputs import Ring
    from hipward_kernels.harness.lines import Lines, OutputError, StopReason, VariantId
    from hipward_kernels.harness.sampling import StopRule
    from hipward_kernels.harness.timing import WatchfulClock
    from hipward_kernels.numerics.limit import Limit

RECHECK_SHARE = 0.25
MODEL_NEW_SHARE = 0.5
"""Expected number of calls of a turn, after a variant's first, whose result is compared with eager's. ModelNew, whose
author may want it to look fast, has more of them than the variants that are built here."""

FIRST_TURNS = 1
FIRST_TURNS_OF_MODEL_NEW = 2
"""Turns at the beginning in which a call is always compared. The first may have a single call."""

OUTSIDE_SHARE = 0.25
OUTSIDE_MS = 0.05
"""Time outside of the samples counts if a variant has more of it than eager has, by this share of its own samples and
by this many milliseconds for each call."""

KEPT_BYTES = 64 * 1024 * 1024
"""Size of a compared result up to which it is looked at again after each turn, until another is compared."""

FRESH_SECONDS = 3.0
"""Most time for timed calls with new inputs after each turn, because `get_inputs` may be slow."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5
"""Pauses after dropped turns, each twice as long as the previous one."""


_OVERWRITTEN = "returned memory that a later call overwrote"

CALLS_OF_A_TURN = 4
"""Fewest calls of a turn: a timed one, one for comparison, one with new inputs, and the time to create those."""

TURNS_DIFFER = 1.2
"""Factor by which the next turn may take longer than the last."""


def left_out(deadline: Deadline) -> str:
    """The reason why a variant was not measured, as a sentence."""
    return f"Left out: the job's time limit of {deadline.limit_s:g} s was near."


class SlowedError(Exception):
    """The device was throttled in every turn. The message is the end of a sentence about the variant."""


@dataclass(frozen=True)
class Timed:
    """Times of a variant."""

    median_ms: float
    shortest_ms: float
    ms: Sequence[float]
    """All samples."""
    mhz: float | None
    """The device's clock during the timing: median of a reading per turn; None if it cannot be read."""


@dataclass(frozen=True)
class Entrant:
    """A variant that passed the gate and is warm."""

    call: Callable[..., Any]
    call_s: float
    """Approximate duration of a call."""
    results_last: bool = True
    """Whether the result of a call must not change during later calls."""


class Race:
    """Variants that take turns on one device."""

    def __init__(
        self,
        variants: Mapping[VariantId, Entrant],
        ring: Ring,
        clock: WatchfulClock,
        eager_errors: Sequence[OutputError],
        limit: Limit,
        on_failure: Callable[[VariantId, BaseException], None],
        after_turn: Callable[[], None],
        objection: Callable[[VariantId], str | None],
        deadline: Deadline,
        *,
        seeds_calls: bool = False,
        containers: frozenset[type] = frozenset(),
    ) -> None:
        """Prepares the timing.

        Args:
            variants: The variants by name; `eager` is among them.
            ring: Inputs.
            clock: Takes samples.
            eager_errors: Eager's errors, as measured by the gate.
            limit: The gate's limit.
            on_failure: Called with a rejected variant and the reason; may raise to end the timing.
            after_turn: Called after each turn; may raise to end the timing.
            objection: Repeats the checks of `snippet_checks` for a variant.
            deadline: The timing ends before it.
            seeds_calls: Whether the random number generators are seeded before each call, for a random model.
            containers: Types of the containers of eager's results.
        """
        self._variants = MappingProxyType(dict(variants))
        self._ring = ring
        self._clock = clock
        self._eager_errors = eager_errors
        self._limit = limit
        self._on_failure = on_failure
        self._after_turn = after_turn
        self._objection = objection
        self._deadline = deadline
        self._seeds_calls = seeds_calls
        self._containers = containers
        self._turn_s = {variant: CALLS_OF_A_TURN * entrant.call_s for variant, entrant in variants.items()}
        self._wall_s = dict.fromkeys(variants, 0.0)
        self._rechecked: Counter[VariantId] = Counter()
        self._random = random.Random(secrets.randbits(64))  # noqa: S311 - shuffles, guards nothing
        self._fresh_s = 0.0
        self._dropped = dict.fromkeys(variants, 0)
        self._dropped_s = dict.fromkeys(variants, 0.0)
        self._ms: dict[VariantId, list[float]] = {}
        self._mhz: dict[VariantId, list[int]] = {}
        self._outside_ms: dict[VariantId, list[float]] = {}
        self._pause_s = FIRST_PAUSE_S
        self._seen: dict[VariantId, _Seen] = {}
        """The latest compared call of each variant, without its arguments: a variant may use a number of buffers one
        after the other."""
        self._given: list[Any] = []
        """Copies of the arguments of the latest call that may be compared. Used again, and known to no variant."""

    def start(self, rule: StopRule, lines: Lines) -> dict[VariantId, Timed]:
        """Times all variants until each has a reason to stop; returns the times."""
        self._rule = rule
        self._lines = lines
        self._finished: list[VariantId] = []
        self._seals = ObjectSeals(self, self._ring, *self._variants.values())
        expected = {variant: entrant.call_s for variant, entrant in self._variants.items()}
        spent = self._wall_s.__getitem__
        untimed = interleave(expected, self._take, rule, self._random, self, self._refresh, self._has_time, spent)
        for variant in untimed:
            self._lines.unavailable(variant, left_out(self._deadline))
        for variant in self._finished.copy():
            if reason := self._time_outside(variant):
                self._finished.remove(variant)
                self._on_failure(variant, WrongResultError(reason))
        return {variant: self._timed(variant) for variant in self._finished}

    def _time_outside(self, variant: VariantId) -> str | None:
        """Whether a variant's work is not in its samples: the time between them is longer than eager's."""
        if variant == EAGER or EAGER not in self._finished:
            return None
        outside_ms, eager_ms = median(self._outside_ms[variant]), median(self._outside_ms[EAGER])
        sample_ms = median(self._ms[variant])
        if outside_ms - eager_ms <= max(OUTSIDE_SHARE * sample_ms, OUTSIDE_MS):
            return None
        return (
            f"has samples of {sample_ms:.3g} ms, and for each call {outside_ms:.3g} ms outside of them, where Model "
            f"has {eager_ms:.3g} ms: its samples do not contain its work"
        )

    def _timed(self, variant: VariantId) -> Timed:
        ms, mhz = self._ms[variant], self._mhz.get(variant)
        return Timed(median(ms), min(ms), ms, median(mhz) if mhz else None)

    def samples(self, variant: VariantId, round_: int, ms: Sequence[float]) -> None:
        """See `sampling.Listener`."""
        self._ms.setdefault(variant, []).extend(ms)
        self._lines.samples(variant, round_, ms)

    def sampled(self, variant: VariantId, stop: StopReason) -> None:
        """See `sampling.Listener`."""
        self._finished.append(variant)
        self._lines.sampled(variant, stop, self._dropped[variant])

    def _has_time(self, variant: VariantId) -> bool:
        return self._deadline.left_s() > TURNS_DIFFER * self._turn_s[variant]

    def _take(self, variant: VariantId, count: int) -> list[float] | Dropped | None:
        started = perf_counter()
        try:
            with self._deadline.reserving(0.0):
                return self._try(variant, count)
        except OutOfTimeError:
            return Dropped(0.0)
        finally:
            self._turn_s[variant] = perf_counter() - started
            self._wall_s[variant] += self._turn_s[variant]

    def _refresh(self) -> None:
        try:
            with self._deadline.reserving(0.0):
                self._ring.refresh()
        except OutOfTimeError:
            # There is no time for another turn.
            return

    def _try(self, variant: VariantId, count: int) -> list[float] | Dropped | None:
        try:
            times = self._turn(variant, count)
            self._check_seals()
            if self._clock.watch.slowed():
                return self._drop(variant, times)
            self._outside_ms.setdefault(variant, []).append(self._clock.outside_ms)
            if (mhz := self._clock.watch.mhz) is not None:
                self._mhz.setdefault(variant, []).append(mhz)
            self._look_at_fresh(variant, median(times))
        except WrongResultError as error:
            self._on_failure(variant, WrongResultError(f"{error}, in a timed call"))
            return None
        except BaseException as error:
            self._on_failure(variant, error)
            return None
        self._pause_s = FIRST_PAUSE_S
        return times

    def _check_seals(self) -> None:
        if replaced := self._seals.broken():
            raise JobFailedError(tampered(replaced))
        self._after_turn()

    def _turn(self, variant: VariantId, count: int) -> list[float]:
        """Times some calls and, in some turns, compares the result of one."""
        call = self._variants[variant].call
        arguments = [self._ring.take() for _ in range(count)]
        # Each call has another seed, so that a snippet cannot recognize the call that is compared.
        seeds = [secrets.randbits(31) for _ in range(count)] if self._seeds_calls else []
        # The control is a copy of Model, and has Model's results.
        is_authors = variant == MODEL_NEW
        share = MODEL_NEW_SHARE if is_authors else RECHECK_SHARE
        one_in = 0 if variant in (EAGER, CONTROL) else round(count / share)
        first_turns = FIRST_TURNS_OF_MODEL_NEW if is_authors else FIRST_TURNS
        turn = _Turn(
            arguments,
            seeds,
            self._containers,
            self._ring.renew if self._ring.renews(self._variants[variant].call_s) else None,
            self._given,
            one_in,
            looks_at_last=one_in > 0 and self._rechecked[variant] < first_turns,
        )
        with torch.no_grad():
            if count > 1:
                # Not timed: the previous variant used the caches and threads until now. That does not matter for calls
                # that are so long that a turn has only one.
                call(*self._ring.take())
            times, _ = self._clock.samples(call, arguments, turn.after, turn.before)
        if len(turn.kinds) > 1:
            raise WrongResultError("returned results of different types")
        earlier = self._seen.get(variant)
        if earlier and self._is_overwritten(variant, earlier):
            raise WrongResultError(_OVERWRITTEN)
        if turn.seen:
            self._recheck(variant, turn.seen)
        return times[: turn.counted]

    def _is_overwritten(self, variant: VariantId, seen: _Seen) -> bool:
        """Whether a result that must last has changed since its call."""
        return self._variants[variant].results_last and not same_bits(seen.result, seen.copy)

    def _recheck(self, variant: VariantId, seen: _Seen) -> None:
        """Compares the copy of a result of a timed call with eager's, and with what the result is now."""
        self._rechecked[variant] += 1
        is_overwritten = self._is_overwritten(variant, seen)
        # The model does not get the harness's own copies: it could keep them, and change them in a later call.
        arguments = copied(self._given, seen.arguments)
        expected = results_of(self._variants[EAGER].call, arguments, seen.seed)
        compare_with_eager(seen.copy, expected, self._eager_errors, self._limit)
        if is_overwritten:
            raise WrongResultError(_OVERWRITTEN)
        self._seen.pop(variant, None)
        if size_in_bytes(seen.result) <= KEPT_BYTES:
            # Without the arguments, which may be large.
            self._seen[variant] = replace(seen, arguments=[])

    def _look_at_fresh(self, variant: VariantId, usual_ms: float) -> None:
        """Repeats the checks of a variant if new inputs take long: it may have begun to cache results."""
        if variant == EAGER or self._fresh_s > FRESH_SECONDS or self._ring.renews(self._variants[variant].call_s):
            # If contents change before each call, every sample is one with new inputs.
            return
        started = perf_counter()
        arguments = self._ring.fresh()
        with torch.no_grad():
            (fresh_ms,), _ = self._clock.samples(self._variants[variant].call, [arguments])
        self._fresh_s += perf_counter() - started
        if fresh_ms > CACHED_SPEEDUP * usual_ms and (reason := self._objection(variant)):
            raise WrongResultError(reason)

    def _drop(self, variant: VariantId, times: Sequence[float]) -> Dropped | None:
        self._dropped[variant] += len(times)
        self._dropped_s[variant] += sum(times) * 1e-3
        if variant not in self._ms and self._dropped_s[variant] >= self._rule.time_cap_s:
            self._on_failure(variant, SlowedError("could not be timed: the device was throttled in every turn"))
            return None
        sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        return Dropped(sum(times) * 1e-3)


@dataclass(frozen=True)
class _Seen:
    """A call that is compared."""

    arguments: list[Any]
    result: dict[str, Any]
    copy: dict[str, Any]
    """A copy of the result from the end of the call."""
    seed: int
    """The seed of the random number generators before it; 0 if they are not seeded."""


class _Turn:
    """What happens before and after each call of a turn.

    Whether a result is compared is decided after the call: until then, the snippet could find the decision in the
    frames that call it. Calls after the compared one do not count, because the snippet could find that out.
    """

    def __init__(
        self,
        arguments: Sequence[list[Any]],
        seeds: Sequence[int],
        containers: frozenset[type],
        renew: Callable[[list[Any]], None] | None,
        given: list[Any],
        one_in: int,
        *,
        looks_at_last: bool,
    ) -> None:
        """One of `one_in` calls is compared, at most one of the turn; none if that is 0. `given` receives copies."""
        self._arguments = arguments
        self._seeds = seeds
        self._containers = containers
        self._renew = renew
        self._given = given
        self._one_in = one_in
        self._looks_at_last = looks_at_last
        self.seen: _Seen | None = None
        """The compared call."""
        self.kinds: set[tuple[type, ...]] = set()
        """Types of all results."""
        self.counted = len(arguments)
        """Number of calls whose times count."""

    def before(self, index: int) -> None:
        """Writes new contents into the arguments, and copies them."""
        if self._renew:
            self._renew(self._arguments[index])
        if self.seen is None:
            self._given[:] = copied(self._arguments[index], self._given)
        if self._seeds:
            seed_everything(self._seeds[index])

    def after(self, index: int, result: Any) -> None:
        """Copies the result if it will be compared."""
        if reason := foreign_container(result, self._containers):
            raise WrongResultError(reason)
        self.kinds.add(_kinds(result))
        if self.seen is not None or not self._one_in:
            return
        is_last = self._looks_at_last and index == len(self._arguments) - 1
        if is_last or secrets.randbelow(self._one_in) == 0:
            # Copied at once on the same stream, so that a later call or another stream cannot complete the result.
            held = flatten(result)
            self.seen = _Seen(self._arguments[index], held, cloned(held), self._seeds[index] if self._seeds else 0)
            self.counted = index + 1


def _kinds(result: Any) -> tuple[type, ...]:
    """Types of a result and of its leaves."""
    return (type(result), *map(type, flatten(result).values()))
