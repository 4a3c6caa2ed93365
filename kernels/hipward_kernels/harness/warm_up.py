"""Calls a variant until its one-time work is done."""

from __future__ import annotations

import itertools
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.trials import results_of
from hipward_kernels.numerics.nested import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WARM_CALLS = 5
"""Calls of a variant before it is timed, at least; those of the precision gate count."""
WARM_SECONDS = {"cuda": 0.25, "cpu": 0.05}
"""Time of the warm-up, at least: a GPU takes some time to raise its clock."""
WARM_SECONDS_AT_MOST = 3.0


def warm_up(
    call: Callable[..., Any], inputs: Sequence[Any], device: torch.device, least_calls: int = WARM_CALLS
) -> tuple[float, float]:
    """Calls a variant until one-time work is done; returns the seconds of all calls and of the last one."""
    started = perf_counter()
    least_s = WARM_SECONDS[device.type]
    arguments: list[Any] = []
    for calls in itertools.count(1):
        arguments = copied(list(inputs), arguments)
        before = perf_counter()
        results_of(call, arguments, 0)
        if device.type != "cpu":
            torch.cuda.synchronize(device)
        now = perf_counter()
        if now - started >= WARM_SECONDS_AT_MOST or (calls >= least_calls and now - started >= least_s):
            return now - started, now - before
    raise AssertionError("counting never ends")
