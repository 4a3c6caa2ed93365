"""Detects that a snippet changes the objects of the timing: the clock, the lines, the calls of the variants.

Their classes and functions are recorded in `tamper.py`. An instance can be found through frames, and its attributes
can be replaced.
"""

from __future__ import annotations

from typing import Any


class ObjectSeals:
    """A record of the attributes of objects. Numbers and None may change, and so may the contents of containers."""

    def __init__(self, *objects: object) -> None:
        self._objects = [(each, type(each), _attributes(each)) for each in objects]

    def broken(self) -> str | None:
        """The name of a replaced attribute, or None."""
        for each, kind, before in self._objects:
            if type(each) is not kind:
                return f"the harness's {kind.__name__}"
            now = _attributes(each)
            for name in before | now:
                if before.get(name, self) is not now.get(name, self):
                    return f"the attribute {name} of the harness's {kind.__name__}"
        return None


def _attributes(of: object) -> dict[str, Any]:
    changing = (int, float, type(None), ObjectSeals)
    return {name: value for name, value in vars(of).items() if not isinstance(value, changing)}
