"""Environment variables that enable or disable optimizations, and a context manager that overrides them.

A switch is read at each use, so that one process can compare both settings.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

_overrides: dict[str, str] = {}

_beneath = os.environ._data  # type: ignore[attr-defined] # noqa: SLF001 - see `setting_of`


def value(name: str, default: str) -> str:
    """The value of a switch: the override of this process, else the environment variable, else `default`."""
    found = _overrides.get(name)
    return os.environ.get(name, default) if found is None else found


def on(name: str) -> bool:
    """Whether a switch is `1`; it is off by default.

    Raises:
        ValueError: The value is neither 0 nor 1.
    """
    found = value(name, "0")
    if found not in ("0", "1", ""):
        raise ValueError(f"{name} is {found!r}; it must be 0 or 1")
    return found == "1"


def number(name: str) -> int | None:
    """The value of a switch as an integer, or None if it is not set."""
    found = value(name, "")
    try:
        return int(found) if found else None
    except ValueError:
        raise ValueError(f"{name} is {found!r}; it must be an integer") from None


def setting_of(*names: str) -> Callable[[], Hashable]:
    """Returns a function that returns the current values of these switches, for use in a cache key.

    Ops call it at each call, so it reads the dictionary beneath `os.environ`, which would encode the name at each use
    and raise an exception internally where a variable is not set.
    """
    keys = [os.environ.encodekey(name) for name in names]

    def setting() -> Hashable:
        if _overrides:
            return tuple([value(name, "") for name in names])
        return tuple(map(_beneath.get, keys))

    return setting


@contextmanager
def switched(**switches: str) -> Iterator[None]:
    """Overrides switches within a `with` block, for the whole process."""
    before = dict(_overrides)
    _overrides.update(switches)
    try:
        yield
    finally:
        _overrides.clear()
        _overrides.update(before)
