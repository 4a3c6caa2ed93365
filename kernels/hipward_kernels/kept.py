"""What was worked out once, kept by a key of all that it depends on. No tensors here, and no choices."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import TypeVar

Value = TypeVar("Value")

MOST = 4096


class Kept(dict[Hashable, Value]):
    """Values by their keys; when it is full it starts anew.

    A key may hold a size that is a symbol, which some tracers use: it cannot be looked up, and nothing is kept for it.
    """

    def find(self, key: Hashable) -> Value | None:
        """The value of a key, if it is kept."""
        try:
            return self.get(key)
        except TypeError:
            return None

    def keep(self, key: Hashable, value: Value) -> Value:
        """Keeps a value, and returns it."""
        if len(self) >= MOST:
            self.clear()
        with suppress(TypeError):
            self[key] = value
        return value
