"""Containers of a snippet whose elements are computed when they are read, after the call that is timed.

Lists, tuples, dictionaries and dataclasses of a snippet are outputs like any others, as long as reading them runs no
code of the snippet.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from inspect import getattr_static
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

READS = (
    *("__iter__", "__next__", "__getitem__", "__len__", "__getattribute__", "__getattr__", "__class__"),
    *("items", "keys", "values", "get"),
)
"""Attributes through which the outputs of a container are read."""


def computed_when_read(kinds: Iterable[type], is_installed: Callable[[str], bool]) -> type | None:
    """One of these container types whose elements code of the snippet computes, or None.

    `is_installed` tells whether a file belongs to Python or to an installed package.
    """
    return next((kind for kind in kinds if _is_lazy(kind, is_installed)), None)


def _is_lazy(kind: type, is_installed: Callable[[str], bool]) -> bool:
    names = {*READS, *(field.name for field in fields(kind))} if is_dataclass(kind) else READS
    return any(_runs_code(getattr_static(kind, name, None), is_installed) for name in names)


def _runs_code(member: Any, is_installed: Callable[[str], bool]) -> bool:
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if isinstance(member, FunctionType):
        return not is_installed(member.__code__.co_filename)
    # A descriptor of a class of the snippet.
    return any(
        isinstance(get := getattr_static(type(member), name, None), FunctionType)
        and not is_installed(get.__code__.co_filename)
        for name in ("__get__", "__call__")
    )
