"""Times Model where no code of ModelNew has run.

ModelNew shares a process with Model, and can make it slower there in ways that no record of objects covers: a hook on
an object that it finds, a patched function of the snippet, a thread, a change in C. So Model is timed once more without
it: on a CPU in another process at the end of the job (`clean_process.py`), and on a GPU in the same process before the
statements that define ModelNew run (`job.py`). A difference beyond noise is reported with the result.

A second process is no choice on a GPU: CUDA does not start in a process that may not write to its own folder in /proc,
and in a sandbox with Landlock alone only the worker may.

Other code at the top level of the snippet runs before both measurements. What it makes slower is slower in both, and is
part of the Model that the result shows.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.inputs import Ring, Source
from hipward_kernels.harness.timing import clock_for
from hipward_kernels.harness.warm_up import warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.harness.contract import Snippet

ROUNDS = 5
SECONDS = 1.0
"""Time of the samples."""
FEWEST_SAMPLES = 10
MOST_SAMPLES = 200
MOST_SECONDS = 15.0
"""Time after which there are no further rounds."""

PAUSE_S = 1.0
"""Time between two comparisons where a GPU waits for the host."""


@dataclass(frozen=True)
class Limit:
    """From when on Model is reported as slower here than alone."""

    ratio: float
    """Ratio of the times from which on they differ."""
    comparisons: int
    """Each of them, the later ones with new samples, must find the difference."""
    pause_s: float
    """Time between two comparisons."""


LIMIT = Limit(1.25, 2, 0.0)
HOST_LIMIT = Limit(2.0, 6, PAUSE_S)
"""Where a GPU waits for the host. Calls of one model in one process without a harness took up to 1.8 times as long for
some seconds (H200, 1.7 and 3.1 ms, medians of 100), and up to 2.0 times as long right after torch.compile had run;
five seconds later they were as short as before."""
DIFFERENCE_MS = 0.01
"""The same as a difference: the host's time of a call varies."""


class SlowModelError(Exception):
    """A call of Model takes too long to be repeated. The message is the end of a sentence."""


def times_of(snippet: Snippet, most_call_s: float = math.inf) -> list[float]:
    """Milliseconds of calls of Model.

    Raises:
        SlowModelError: A call takes longer than `most_call_s`.
    """
    model = snippet.build("Model")
    inputs = snippet.inputs(secrets.randbits(31))
    # Copies on a CPU, because it is not known here whether Model modifies its inputs.
    ring = Ring(Source(snippet), copy_each=snippet.device.type == "cpu")
    _, call_s = warm_up(model, inputs, snippet.device)
    if call_s > most_call_s:
        raise SlowModelError(f"a call takes {call_s:.2g} s")
    clock = clock_for(snippet.device)
    count = min(max(int(SECONDS / ROUNDS / max(call_s, 1e-9)), FEWEST_SAMPLES // ROUNDS), MOST_SAMPLES // ROUNDS)
    renews = ring.renews(call_s)
    times: list[float] = []
    started = perf_counter()
    with torch.no_grad():
        for _ in range(ROUNDS):
            arguments = [ring.take() for _ in range(count)]

            def before(index: int, arguments: list[Any] = arguments) -> None:
                if renews:
                    ring.renew(arguments[index])

            model(*ring.take())
            times += clock.samples(model, arguments, None, before)[0]
            if perf_counter() - started > MOST_SECONDS and len(times) >= 4:
                break
    return times


def differs(here: Sequence[float], alone: Sequence[float], ratio: float) -> bool:
    """Whether Model is slower here than alone, by more than `ratio` and noise. Both are milliseconds of calls."""
    if len(here) < 4 or len(alone) < 4:
        return False
    mine, its = median(here), median(alone)
    return mine > quantiles(alone, n=4)[2] and mine > ratio * its and mine - its > DIFFERENCE_MS
