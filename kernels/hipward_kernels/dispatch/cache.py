"""A bounded cache of decisions, by everything that they depend on. Stores no tensors."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import TypeVar

Value = TypeVar("Value")

CAPACITY = 4096


class DispatchCache(dict[Hashable, Value]):
    """Values by key. A full cache is cleared.

    A key may have a symbolic size, which some tracers use. Such a key is not hashable, and its value is not stored.
    """

    def lookup(self, key: Hashable) -> Value | None:
        """The value of `key`, or None if it is not in the cache."""
        try:
            return self.get(key)
        except TypeError:
            return None

    def store(self, key: Hashable, value: Value) -> Value:
        """Stores a value and returns it."""
        if len(self) >= CAPACITY:
            self.clear()
        with suppress(TypeError):
            self[key] = value
        return value
