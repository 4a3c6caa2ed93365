"""The environment variables that switch optimizations, under the field's names, and a way to override them in a block.

Every switch is read at each use, so that one process can compare both sides. Nothing here decides what a switch means.
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
    """The switch's text: an override of this process, else the environment's, else `default`."""
    found = _overrides.get(name)
    return os.environ.get(name, default) if found is None else found


def on(name: str) -> bool:
    """Whether a switch that is off by default is on: `1`. Anything but `0` and `1` is an error."""
    found = value(name, "0")
    if found not in ("0", "1", ""):
        raise ValueError(f"{name} is {found!r}; it is switched by 0 and 1")
    return found == "1"


def number(name: str) -> int | None:
    """The switch's whole number, or None when it is not set."""
    found = value(name, "")
    try:
        return int(found) if found else None
    except ValueError:
        raise ValueError(f"{name} is {found!r}; a whole number is needed") from None


def setting_of(*names: str) -> Callable[[], Hashable]:
    """A function that tells one setting of these switches from another, to keep by it what they decide.

    It is for each call of an op, so it looks into the dictionary beneath `os.environ`: that encodes a name at each use,
    and raises inside where it is not set.
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
