"""What was worked out once, kept by a key of all that it depends on. No tensors here, and no choices."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

Value = TypeVar("Value")

MOST = 4096


class Kept(dict[Hashable, Value]):
    """Values by their keys; when it is full it starts anew."""

    def keep(self, key: Hashable, value: Value) -> Value:
        """Keeps a value, and returns it."""
        if len(self) >= MOST:
            self.clear()
        self[key] = value
        return value
