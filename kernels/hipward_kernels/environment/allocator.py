"""Whether the variable that sets up PyTorch's allocator is well formed: with one that is not, importing PyTorch aborts.

Imports no PyTorch, so that something can still be said. Form only: what a setting is called changes with versions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
"""The name for all vendors, and the older ones that PyTorch still reads."""

_WORD = r"[^,:\[\]]+"
_PAIR = re.compile(rf"{_WORD}:(?:{_WORD}|\[[^\[\]]*\])")
_COMMAS_OUTSIDE_LISTS = re.compile(r",(?![^\[]*\])")

EXAMPLE = "expandable_segments:True,max_split_size_mb:512"


def problem(text: str) -> str | None:
    """What is wrong with the form of a value, or None. PyTorch ignores white space, and one comma at the end."""
    bare = re.sub(r"\s", "", text)
    if not bare:
        return None
    for pair in _COMMAS_OUTSIDE_LISTS.split(bare.removesuffix(",")):
        if not _PAIR.fullmatch(pair):
            return f"{pair!r} is no name:value"
        name, _, value = pair.partition(":")
        if name == "expandable_segments" and value not in ("True", "False"):
            return f"{pair!r} is neither True nor False, spelled like this"
    return None


def problems(variables: Mapping[str, str]) -> dict[str, str]:
    """For each of the variables that is malformed: what is wrong with it."""
    return {name: wrong for name in NAMES if (wrong := problem(variables.get(name, ""))) is not None}


def command(name: str) -> str:
    """How to write it."""
    return f"export {name}={EXAMPLE}   # or: unset {name}"
