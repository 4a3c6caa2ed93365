"""The columns `_before` of a table: the numbers of an older version of the kernels, beside those of this one.

A row is a dataclass whose `key` identifies its kernel in every version of the table.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIX = "_before"

Row = TypeVar("Row", bound=Any)
Numbers = dict[tuple[str, ...], dict[str, Any]]
"""By a row's key: the values of its columns `_before`."""


def older_columns(row: Any) -> list[str]:
    """The names of the columns `_before` of a row, or of its class."""
    return [field.name for field in fields(row) if field.name.endswith(SUFFIX)]


def beside(rows: Iterable[Row], numbers: Numbers) -> list[Row]:
    """The rows with the older numbers of their kernels."""
    return [replace(row, **numbers.get(row.key, {})) for row in rows]


def kept(table: Iterable[Any]) -> Numbers:
    """The older numbers in a table."""
    return {row.key: {name: getattr(row, name) for name in older_columns(row)} for row in table}


def as_older(table: Iterable[Any]) -> Numbers:
    """The numbers of a table of an older version."""
    return {row.key: {name: getattr(row, name.removesuffix(SUFFIX)) for name in older_columns(row)} for row in table}
