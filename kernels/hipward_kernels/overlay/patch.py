"""Temporarily replaces attributes of another library, after checks of its version and signatures."""

from __future__ import annotations

import importlib
import inspect
import re
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence


class OverlayError(Exception):
    """The patches do not support the installed library, and nothing was changed. The message states the difference."""


@dataclass(frozen=True)
class Patch:
    """A replacement of an attribute, or of a key of a mapping."""

    module: str
    path: str
    """`Class.method`, `function`, or `MAPPING[key]`."""
    parameters: tuple[str, ...]
    """The parameters that the original must have, in order; it may have more, if they have defaults or are variadic."""
    make: Callable[[Any], Any]
    """Makes the replacement, given the original."""
    key: str | None = None
    """For a mapping of functions: the key whose function must have the parameters."""


class Model(Protocol):
    """A module or object of this package with patches for a model of transformers."""

    @property
    def OLDEST(self) -> tuple[int, int]:  # noqa: N802 - a constant of modules
        """The first version of transformers that the patches support."""

    @property
    def BEFORE(self) -> tuple[int, int]:  # noqa: N802
        """The first version that they are not known to support."""

    def patches(self) -> Sequence[Patch]:
        """The patches."""


@dataclass
class _Place:
    """Where an attribute or a key is."""

    owner: Any
    name: str
    keyed: bool

    def get(self) -> Any:
        return self.owner[self.name] if self.keyed else inspect.getattr_static(self.owner, self.name)

    def set(self, value: Any) -> None:
        if self.keyed:
            mapping: MutableMapping[str, Any] = self.owner
            mapping[self.name] = value
        else:
            setattr(self.owner, self.name, value)

    def put_back(self, original: Any) -> None:
        """Undoes `set`. An attribute that was inherited is inherited again."""
        if self.keyed:
            del self.owner[self.name]
        else:
            delattr(self.owner, self.name)
        try:
            if self.get() is original:
                return
        except (AttributeError, KeyError):
            pass
        self.set(original)


_lock = threading.Lock()
_blocks: Counter[int] = Counter()
"""Number of active `with` blocks by the model's id: the first applies the patches, the last undoes them."""
_before: dict[int, list[tuple[_Place, Any]]] = {}


@contextmanager
def patched(model: Model) -> Iterator[None]:
    """Patches transformers for a model within a `with` block, for the whole process.

    Blocks may be nested, overlap and run in several threads: the patches stay until the last one ends.

    Raises:
        OverlayError: transformers is missing, of another version, or has other functions. Nothing is changed then.
    """
    key = id(model)
    with _lock:
        if not _blocks[key]:
            _before[key] = _patch(model)
        _blocks[key] += 1
    try:
        yield
    finally:
        with _lock:
            _blocks[key] -= 1
            if not _blocks[key]:
                _put_back(_before.pop(key))


def _patch(model: Model) -> list[tuple[_Place, Any]]:
    """Applies every patch or none; returns the originals."""
    check_version(model)
    found = [(_find(patch), patch) for patch in model.patches()]
    before = [(place, place.get()) for place, _ in found]
    for (_, original), (_, patch) in zip(before, found, strict=True):
        check_signature(patch, original)
    made = [patch.make(original) for (_, original), (_, patch) in zip(before, found, strict=True)]
    for (place, _), replacement in zip(before, made, strict=True):
        place.set(replacement)
    return before


def _put_back(before: list[tuple[_Place, Any]]) -> None:
    for place, original in reversed(before):
        place.put_back(original)


def check_version(model: Model) -> None:
    """Raises unless the patches support the installed version of transformers."""
    try:
        version: str = importlib.import_module("transformers").__version__
    except ImportError as error:
        raise OverlayError(f"transformers cannot be imported: {error}") from error
    numbers = re.match(r"(\d+)\.(\d+)", version)
    here = (int(numbers.group(1)), int(numbers.group(2))) if numbers else (0, 0)
    if not model.OLDEST <= here < model.BEFORE:
        oldest, before = (".".join(map(str, bound)) for bound in (model.OLDEST, model.BEFORE))
        raise OverlayError(f"transformers is {version}; these patches are for {oldest} up to, not including, {before}")


def check_signature(patch: Patch, original: Any) -> None:
    """Raises unless the original has the parameters that the replacement expects."""
    name = f"{patch.module}.{patch.path}"
    if patch.key is not None:
        try:
            name, original = f"{name}[{patch.key}]", original[patch.key]
        except (KeyError, TypeError) as error:
            raise OverlayError(f"{name} has no {patch.key}: {error}") from error
    if not callable(original):
        raise OverlayError(f"{name} is a {type(original).__name__}, not a function")
    parameters = list(inspect.signature(original).parameters.values())
    names = tuple(parameter.name for parameter in parameters)
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    more = [
        parameter.name
        for parameter in parameters[len(patch.parameters) :]
        if parameter.default is inspect.Parameter.empty and parameter.kind not in variadic
    ]
    if names[: len(patch.parameters)] != patch.parameters or more:
        raise OverlayError(f"{name} takes ({', '.join(names)}); ({', '.join(patch.parameters)}) was expected")


def _find(patch: Patch) -> _Place:
    try:
        owner: Any = importlib.import_module(patch.module)
        path, _, key = patch.path.partition("[")
        *parents, last = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        place = _Place(getattr(owner, last), key[:-1], keyed=True) if key else _Place(owner, last, keyed=False)
        place.get()
    except (ImportError, AttributeError, KeyError) as error:
        raise OverlayError(f"{patch.module} has no {patch.path}: {error}") from error
    return place
