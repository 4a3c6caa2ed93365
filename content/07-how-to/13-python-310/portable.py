# test: run
# ruff: noqa: UP017, UP036 - this file shows what works on Python 3.10
from __future__ import annotations

import sys

# anchor: portable
from datetime import datetime, timezone

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

started = datetime.now(timezone.utc)
project = tomllib.loads("[project]\nname = 'port'")


def name_of(value: int | str) -> str:
    match value:
        case int():
            return "number"
        case str():
            return "text"
    raise TypeError(value)


# end: portable
assert started.utcoffset() is not None
assert project == {"project": {"name": "port"}}
assert name_of(1) == "number"
