"""Syntax check of the variable that configures PyTorch's allocator. With a malformed one, importing PyTorch aborts.

This module does not import PyTorch, so that it can report the error. Names of settings are not checked, because they
differ between versions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
"""The name for all vendors, and the older names that PyTorch still reads."""

_WORD = r"[^,:\[\]]+"
_PAIR = re.compile(rf"{_WORD}:(?:{_WORD}|\[[^\[\]]*\])")
_COMMAS_OUTSIDE_LISTS = re.compile(r",(?![^\[]*\])")

EXAMPLE = "expandable_segments:True,max_split_size_mb:512"


def problem(text: str) -> str | None:
    """The syntax error of a value, or None. PyTorch ignores white space and a trailing comma."""
    bare = re.sub(r"\s", "", text)
    if not bare:
        return None
    for pair in _COMMAS_OUTSIDE_LISTS.split(bare.removesuffix(",")):
        if not _PAIR.fullmatch(pair):
            return f"{pair!r} is not of the form name:value"
        name, _, value = pair.partition(":")
        if name == "expandable_segments" and value not in ("True", "False"):
            return f"the value of {pair!r} must be True or False"
    return None


def problems(variables: Mapping[str, str]) -> dict[str, str]:
    """The syntax error of each malformed variable."""
    return {name: wrong for name in NAMES if (wrong := problem(variables.get(name, ""))) is not None}


def command(name: str) -> str:
    """A shell command with the correct syntax."""
    return f"export {name}={EXAMPLE}   # or: unset {name}"
