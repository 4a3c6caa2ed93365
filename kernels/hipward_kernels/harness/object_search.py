"""Detects that a snippet searches the process for objects of other code, such as the clock, or the lines' secret.

Python reports such calls to audit hooks before they run, and an audit hook cannot be removed. Not detected: a search
through the frames of a traceback, or with `ctypes`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from hipward_kernels.harness.lines import Failure

SEARCHES = frozenset(
    ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames", "sys._current_exceptions")
)
"""Audit events of calls that return objects of other code."""

_PYTORCH = str(Path(torch.__file__).parent)


class SearchRefusedError(RuntimeError):
    """The call was not made."""


class ObjectSearch:
    """Refuses these calls from now on, and records them. One for each process."""

    def __init__(self) -> None:
        """Installs the hook. PyTorch may make these calls itself."""
        found: list[str] = []
        self._found = found
        refused, searches, pytorch, frame = SearchRefusedError, SEARCHES, _PYTORCH, sys._getframe  # noqa: SLF001

        def hook(event: str, _: tuple[Any, ...]) -> None:
            if event in searches and not frame(1).f_code.co_filename.startswith(pytorch):
                found.append(event)
                raise refused(f"{event} is not allowed in a benchmark")

        sys.addaudithook(hook)

    def failure(self) -> Failure | None:
        """The failure of a job whose snippet has made such a call."""
        if not self._found:
            return None
        return Failure(
            "tampered",
            f"The snippet called {self._found[0]}, which finds the objects that measure it, so no result is reliable.",
            "Leave the call out; a benchmark needs no objects of other code.",
        )
