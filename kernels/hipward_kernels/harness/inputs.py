"""Inputs for timed calls: a ring of distinct buffers, each of which is refilled once during the timing.

With distinct buffers, no input stays in a cache for a whole run. New contents in an old buffer expose a snippet that
caches results by the identity of its inputs.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from hipward_kernels.numerics.nested import cloned, size_in_bytes, tensors

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.harness.contract import Snippet

MOST_SLOTS = 8
FEWEST_SLOTS = 2
CPU_BYTES = 256 * 1024 * 1024
GPU_BYTES = 2 * 1024 * 1024 * 1024


class Ring:
    """Sets of arguments, returned in an unpredictable order."""

    def __init__(self, snippet: Snippet, *, copy_each: bool) -> None:
        """With `copy_each`, `take` returns copies, for a model that modifies its inputs."""
        self._snippet = snippet
        self._copy_each = copy_each
        first = self.fresh()
        limit = CPU_BYTES if snippet.device.type == "cpu" else GPU_BYTES
        count = limit // max(size_in_bytes(first), 1)
        count = min(max(count, FEWEST_SLOTS), MOST_SLOTS)
        self._slots = [first, *(self.fresh() for _ in range(count - 1))]
        self._latest = 0
        self._refreshed = 0

    def take(self) -> list[Any]:
        """A set of arguments, different from the previous one."""
        self._latest = (self._latest + 1 + secrets.randbelow(len(self._slots) - 1)) % len(self._slots)
        arguments = self._slots[self._latest]
        return cloned(arguments) if self._copy_each else arguments

    def refresh(self) -> None:
        """Refills the next buffer that has not been refilled. Each is refilled once: `get_inputs` may be slow."""
        at = self._refreshed
        if at == len(self._slots):
            return
        self._refreshed += 1
        slot, fresh = self._slots[at], self.fresh()
        old, new = tensors(slot), tensors(fresh)
        if _alike(old, new):
            for into, out_of in zip(old, new, strict=True):
                into.copy_(out_of)
        else:
            self._slots[at] = fresh

    def fresh(self) -> list[Any]:
        """Arguments that were not used before."""
        return self._snippet.inputs(secrets.randbits(31))


def _alike(old: list[Tensor], new: list[Tensor]) -> bool:
    return len(old) == len(new) and all(
        a.shape == b.shape and a.dtype == b.dtype for a, b in zip(old, new, strict=True)
    )
