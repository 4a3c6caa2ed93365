"""Inputs for calls beside those of the precision gate: a ring of buffers whose contents change before each timed call.

With new contents in an old buffer, a snippet that caches results by the identity, the address or the version of its
inputs returns wrong results or computes them each time. With several buffers, no input stays in a cache for a whole
run. The contents are generated on the device if their distribution is recognized (`contents.py`). Otherwise they are
those of `get_inputs`, and if it is slow, each buffer is refilled once.
"""

from __future__ import annotations

import secrets
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.contents import recognized
from hipward_kernels.numerics.nested import cloned, overlaps, size_in_bytes, tensors

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.harness.contents import Contents
    from hipward_kernels.harness.contract import Snippet

MOST_SLOTS = 8
FEWEST_SLOTS = 2
CPU_BYTES = 256 * 1024 * 1024
GPU_BYTES = 2 * 1024 * 1024 * 1024

QUICK_S = 0.02
"""Time of `get_inputs` up to which nothing else is needed for new contents."""

RENEWED_S = 0.001
RENEWED_SHARE = 2.0
"""Contents change before each call if that takes less than the first, or than this multiple of a call."""


class Source:
    """Arguments with new contents, as often as needed."""

    def __init__(self, snippet: Snippet) -> None:
        """Calls `get_inputs` twice.

        Contents are generated where their distribution is recognized, also if `get_inputs` is fast: it could compute
        the results for its own contents, outside of the timed calls.
        """
        self.device = snippet.device
        self._snippet = snippet
        self._contents: Contents | None = None
        self.seconds = 0.0
        """Approximate time of `renew`."""
        first = self._author()
        # The first call may have included one-time work.
        second, self.seconds = self._timed()
        self._contents = recognized(first, second, self.device)
        if self._contents:
            self._synchronize()
            started = perf_counter()
            self._contents.write(second)
            self._synchronize()
            self.seconds = perf_counter() - started
        # Used by the next call of `fresh` if arguments are expensive.
        self._first = first if self.seconds > QUICK_S and self._contents is None else None

    @property
    def is_author(self) -> bool:
        """Whether contents come from `get_inputs` and are not generated."""
        return self._contents is None

    def fresh(self) -> list[Any]:
        """Arguments that were not used before."""
        if self._contents:
            return self._contents.made()
        first, self._first = self._first, None
        return first or self._author()

    def renew(self, arguments: list[Any]) -> list[Any]:
        """The arguments with new contents, in the same memory if their shapes are the same."""
        if self._contents:
            self._contents.write(arguments)
            return arguments
        fresh = self._author()
        old, new = tensors(arguments), tensors(fresh)
        if not _alike(old, new):
            return fresh
        with torch.no_grad():
            for into, out_of in zip(old, new, strict=True):
                _without_repeats(into).copy_(_without_repeats(out_of))
        return arguments

    def _author(self) -> list[Any]:
        return self._snippet.inputs(secrets.randbits(31))

    def _timed(self) -> tuple[list[Any], float]:
        self._synchronize()
        started = perf_counter()
        made = self._author()
        self._synchronize()
        return made, perf_counter() - started

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


class Ring:
    """Sets of arguments, returned in an unpredictable order."""

    def __init__(self, source: Source, *, copy_each: bool) -> None:
        """With `copy_each`, `take` returns copies, for a model that modifies its inputs."""
        self._source = source
        self._copy_each = copy_each
        first = source.fresh()
        size = max(size_in_bytes(first), 1)
        count = (CPU_BYTES if source.device.type == "cpu" else GPU_BYTES) // size
        # One large buffer is enough if its contents change before each call: nothing of it stays in a cache.
        fewest = 1 if count == 0 and not copy_each and source.device.type != "cpu" else FEWEST_SLOTS
        self._slots = [first, *(source.fresh() for _ in range(min(max(count, fewest), MOST_SLOTS) - 1))]
        self._latest = 0
        self._refreshed = 0

    def take(self) -> list[Any]:
        """A set of arguments, different from the previous one if there are several."""
        others = len(self._slots) - 1
        if others:
            self._latest = (self._latest + 1 + secrets.randbelow(others)) % len(self._slots)
        arguments = self._slots[self._latest]
        return cloned(arguments) if self._copy_each else arguments

    def renews(self, call_s: float) -> bool:
        """Whether contents should change before each call of this duration."""
        return self._source.seconds <= max(RENEWED_S, RENEWED_SHARE * call_s)

    def renew(self, arguments: list[Any]) -> None:
        """Overwrites a set that `take` has returned, if its shapes do not change."""
        self._source.renew(arguments)

    def refresh(self) -> None:
        """Refills the next buffer that has not been refilled. Each is refilled once: `get_inputs` may be slow."""
        at = self._refreshed
        if at == len(self._slots):
            return
        self._refreshed += 1
        self._slots[at] = self._source.renew(self._slots[at])

    def fresh(self) -> list[Any]:
        """Arguments that were not used before."""
        return self._source.fresh()


def _alike(old: list[Tensor], new: list[Tensor]) -> bool:
    return len(old) == len(new) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride() and not overlaps(_without_repeats(a))
        for a, b in zip(old, new, strict=True)
    )


def _without_repeats(x: Tensor) -> Tensor:
    """The first element along each expanded dimension, for `expand`."""
    for at, (size, stride) in enumerate(zip(x.shape, x.stride(), strict=True)):
        if stride == 0 and size > 1:
            x = x.narrow(at, 0, 1)
    return x
