"""Trials of the precision gate: inputs of a seed, with the reference's results and eager's.

A trial is cached if it is small. Of a large one, only the reference is kept, if computing it takes long: depthwise
convolutions of a processor take thirty times as long in float64.
"""

from __future__ import annotations

import itertools
import math
import resource
import secrets
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.harness.contract import generator_states, seed_everything
from hipward_kernels.harness.failure import JobFailedError, in_words
from hipward_kernels.harness.lazy_containers import computed_when_read
from hipward_kernels.harness.lines import Failure
from hipward_kernels.harness.object_search import predicates
from hipward_kernels.numerics.distance import distance, is_finite, largest
from hipward_kernels.numerics.nested import (
    cloned,
    container_types,
    fingerprint,
    flatten,
    same_bits,
    size_in_bytes,
    tensors,
    unsupported_form,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.reference import Known, Reference
    from hipward_kernels.numerics.distance import Distance
    from hipward_kernels.numerics.limit import Limit

SEEDS = 5
FEWEST_SEEDS = 2
SEED_SECONDS = {"cuda": 2.0, "cpu": 0.6}
SEED_SHARE = 0.05
"""Time of a trial from which on fewer seeds are used, in seconds, and as a share of the time that is left to the job:
all trials together take about `SEEDS` times the smaller of the two. Calls of a processor take long in every other step
too, so its trials get less."""

MAX_OUTPUTS = 1000
"""Outputs of a call that can be compared. The line with their errors is limited too."""

CACHE_BYTES = 512 * 1024 * 1024
"""Memory for cached trials, at least. Trials beyond it are computed again for each variant."""
CACHE_SHARE = 1 / 8
"""The same as a share of a GPU's memory, or of a job's memory limit, where that is more."""
SLOW_SECONDS = 0.5
"""Time of a reference from which on it is kept if its trial is not, and of a trial without a kept reference from which
on fewer seeds are used, but `FEWEST_SEEDS` at least."""
BESIDE_COPIES = "Model.forward beside copies of its inputs and results"
"""What needs memory once Model has run for the first time."""
SLOW_FACTOR = 2
"""Memory for cached trials and such references together, over that for trials."""


@dataclass(frozen=True)
class Baseline:
    """Size of a reference output, and eager's error in it."""

    error: Distance
    """Distance of eager's output from the reference."""
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
            eager, reference = self.eager[name], self.reference[name]
            # Of floating-point numbers, it does not matter how many differ.
            limit = math.inf if eager.is_floating_point() or eager.is_complex() else 0.0
            self._baselines[name] = Baseline(distance(eager, reference, limit), largest(reference))
        return self._baselines[name]


@dataclass(frozen=True)
class _Reference:
    """A reference, and the baselines of its outputs: what is kept of a trial that is not cached."""

    known: Known
    baselines: dict[str, Baseline] = field(default_factory=dict)


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
        self.eager_is_random: bool | None = None
        """Whether results change with the seed of the generators that it draws from; None before the first trial."""
        self.shapes: set[tuple[torch.Size, ...]] = set()
        """Shapes of the inputs so far."""
        self.containers: frozenset[type] = frozenset()
        """Types of the containers of eager's results (`container_types`)."""
        self._snippet = snippet
        self._is_installed = predicates(snippet.path.parent)[0]
        self._eager = eager
        self._cached: dict[int, Trial] = {}
        self._references: dict[int, _Reference] = {}
        self._bytes = 0
        """Memory of both."""
        self._seed_seconds = min(SEED_SECONDS[snippet.device.type], SEED_SHARE * max(left_s, 0.0))
        self._most_bytes = _most_bytes(snippet.device)
        if first := reference.take_first():
            self.seeds[0] = first.seed
            self._keep(_Reference(first))

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

    def with_next_results(self) -> Iterator[tuple[Trial, dict[str, Any]]]:
        """Each trial, with Model's results for the inputs of the next one and the random seed of this one."""
        for seed, after in itertools.pairwise(self.seeds):
            trial, following = self._cached.get(seed) or self._run(seed), self._cached.get(after)
            if following and not self.eager_is_random:
                yield trial, following.eager
            else:
                yield trial, results_of(self._eager, cloned(self.inputs(after)), seed)

    def at_hand(self) -> Iterator[Trial]:
        """The trials that are cached, or the first if none is."""
        cached = [trial for seed in self.seeds if (trial := self._cached.get(seed))]
        return iter(cached) if cached else itertools.islice(self, 1)

    def forget(self) -> None:
        """Frees the memory of the cached trials and references."""
        self._cached.clear()
        self._references.clear()
        self._bytes = 0

    def _run(self, seed: int) -> Trial:
        started = perf_counter()
        inputs = self._snippet.inputs(seed)
        self.shapes.add(tuple(each.shape for each in tensors(inputs)))
        arguments = cloned(inputs)
        try:
            result = call_seeded(self._eager, arguments, seed)
            may_be_random = self.eager_is_random is None and self._drew_numbers(seed)
            found = container_types(result)
            _refuse_lazy(found - self.containers, self._is_installed)
            self.containers |= found
            eager = flatten(result)
            del result
            _refuse_other_forms(eager)
            self.eager_changes_inputs |= not same_bits(arguments, inputs)
            # Frees memory that the reference may need.
            del arguments
            if may_be_random:
                other = results_of(self._eager, cloned(inputs), seed + 1)
                self.eager_is_random = not same_bits(other, eager)
                del other
            elif self.eager_is_random is None:
                self.eager_is_random = False
        except JobFailedError:
            raise
        except BaseException as error:
            failure = self._snippet.failure(error, "forward-error", BESIDE_COPIES)
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
        others_s = perf_counter() - started
        reference = self._reference(seed, inputs)
        known = reference.known
        if seed == self.seeds[0]:
            taken, most = others_s + known.seconds, self._seed_seconds
            self.seeds = self.seeds[: max(int(SEEDS * most / max(taken, most)), FEWEST_SEEDS)]
        trial = Trial(seed, inputs, known.outputs, eager, self.reference.limit, reference.baselines)
        if self._cache(trial):
            return trial
        is_kept = known.seconds > SLOW_SECONDS and self._keep(reference)
        if others_s + (0.0 if is_kept else known.seconds) > SLOW_SECONDS:
            self.seeds = self.seeds[: max(self.seeds.index(seed), FEWEST_SEEDS)]
        return trial

    def _drew_numbers(self, seed: int) -> bool:
        """Whether a call that was seeded with `seed` has drawn random numbers since."""
        after = generator_states(self._snippet.device)
        seed_everything(seed)
        return after != generator_states(self._snippet.device)

    def _reference(self, seed: int, inputs: list[Any]) -> _Reference:
        """The kept reference if it is of these inputs, or a new one."""
        found = self._references.get(seed)
        if found and found.known.inputs == fingerprint(inputs):
            return found
        self._drop(seed)
        try:
            return _Reference(self.reference.known(inputs, seed))
        except Exception as error:
            failure = in_words(error, "forward-error", "Model.forward in float64", device=self._snippet.device.type)
            raise JobFailedError(failure) from error

    def _cache(self, trial: Trial) -> bool:
        """Keeps a trial if there is memory for it, in place of its reference."""
        self._drop(trial.seed)
        size = size_in_bytes([trial.inputs, trial.reference, trial.eager])
        if self._bytes + size > self._most_bytes:
            return False
        self._bytes += size
        self._cached[trial.seed] = trial
        return True

    def _keep(self, reference: _Reference) -> bool:
        """Keeps a reference if there is memory for it."""
        size = size_in_bytes(reference.known.outputs)
        if self._bytes + size > SLOW_FACTOR * self._most_bytes:
            return False
        self._bytes += size
        self._references[reference.known.seed] = reference
        return True

    def _drop(self, seed: int) -> None:
        if found := self._references.pop(seed, None):
            self._bytes -= size_in_bytes(found.known.outputs)


def _refuse_lazy(kinds: frozenset[type], is_installed: Callable[[str], bool]) -> None:
    if (kind := computed_when_read(kinds, is_installed)) is not None:
        raise JobFailedError(
            Failure(
                "contract-missing",
                f"Model.forward returned a {kind.__name__}, a class of the snippet whose elements are computed when "
                "they are read.",
                "Return a tensor, or tensors in a tuple, list, dictionary or dataclass.",
            )
        )


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


def results_of(call: Callable[..., Any], arguments: Sequence[Any], seed: int) -> dict[str, Any]:
    """Calls a variant with seeded random number generators and returns its outputs by name."""
    return flatten(call_seeded(call, arguments, seed))


def call_seeded(call: Callable[..., Any], arguments: Sequence[Any], seed: int) -> Any:
    """Calls a variant with seeded random number generators and without gradients."""
    seed_everything(seed)
    with torch.no_grad():
        return call(*arguments)
