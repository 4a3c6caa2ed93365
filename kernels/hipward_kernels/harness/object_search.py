"""Detects that a snippet searches the process for objects of other code, such as the clock, or the lines' secret.

Python reports such calls to audit hooks before they run, and an audit hook cannot be removed. Three kinds are refused:

* calls that return objects of the whole process, from any code but PyTorch's;
* access to frames, whose locals include those objects, from code that is neither Python's nor an installed package's.
  The name of its file tells which code that is; a snippet may not compile code under such a name;
* from the same code, reading memory at an address with `ctypes`, and calling Python's C interface with it.

Not detected: a search by code in C, and `ctypes.cast`, which Python does not report. The runner marks results of
snippets that name either (`runner/src/jobs/native_code.rs`).
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.lines import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

SEARCHES = frozenset(
    ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames", "sys._current_exceptions")
)
"""Audit events of calls that return objects of the whole process."""

FRAMES = frozenset(("sys._getframe", "sys.settrace", "sys.setprofile"))
"""Audit events of calls that return frames or pass them to a function."""

FRAME_ATTRIBUTES = frozenset(("tb_frame", "gi_frame", "cr_frame", "ag_frame"))
"""Attributes that are frames; `f_back` leads from each of them to the harness."""

CODE = frozenset(("compile", "code.__new__", "marshal.loads"))
"""Audit events of ways to make code whose file has any name."""

MEMORY = frozenset(("ctypes.cdata", "ctypes.PyObj_FromPtr", "ctypes.string_at", "ctypes.wstring_at"))
"""Audit events of reading memory at an address."""

C_FUNCTION = "ctypes.dlsym"
"""Audit event of looking up a function of a library."""

LOOKUPS = ("dlsym", "dlvsym", "dlopen")
"""Functions in C that look up others, which Python would not report."""

LIBRARY = "ctypes.dlopen"
"""Audit event of loading a library."""

MODULE = "import"
"""Audit event of loading a module; of one in C, it names the file."""

LOADERS = ("torch/utils/cpp_extension.py", "torch/_ops.py")
"""PyTorch's files that load code in C for their caller."""

HELPERS: Mapping[str, tuple[str, ...] | None] = {
    "inspect.py": None,
    "bdb.py": None,
    "ctypes/__init__.py": None,
    "traceback.py": ("walk_stack", "walk_tb"),
    "logging/__init__.py": ("currentframe", "<lambda>"),
}
"""Functions of Python's library that act for their caller; None: all of the file."""


class SearchRefusedError(RuntimeError):
    """The call was not made."""


class ObjectSearch:
    """Refuses these calls from now on, and records them. One for each process."""

    def __init__(self, snippets: Path, loads: Callable[[], None] = lambda: None) -> None:
        """Installs the hook. Code from files in the folder `snippets` is a snippet's.

        `loads` is called before a snippet loads code in C, which is permitted.
        """
        self._found: list[str] = []
        sys.addaudithook(_hook(self._found, snippets))
        sys.addaudithook(_loading_hook(snippets, loads))

    def failure(self) -> Failure | None:
        """The failure of a job whose snippet has made such a call."""
        if not self._found:
            return None
        return Failure(
            "tampered",
            f"The snippet {self._found[0]}, which finds the objects that measure it, so no result is reliable.",
            "Leave that out; a benchmark needs no objects of other code.",
        )


# Everything that the hook uses is bound in these functions, because a snippet can replace the names of this module.


def _hook(found: list[str], snippets: Path) -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook that refuses."""
    refused, current, decode = SearchRefusedError, sys._getframe, os.fsdecode  # noqa: SLF001
    searches, frames, attributes, code = SEARCHES, FRAMES, FRAME_ATTRIBUTES, CODE
    native, in_c = {*MEMORY, C_FUNCTION}, _in_c()
    pytorch, (is_installed, is_foreign) = str(Path(torch.__file__).parent), predicates(snippets)

    def refusal(event: str, arguments: tuple[Any, ...], frame: FrameType) -> str | None:
        if event in searches:
            # PyTorch makes these calls itself.
            return None if frame.f_code.co_filename.startswith(pytorch) else f"called {event}"
        if event in frames:
            return f"called {event}" if is_foreign(frame) else None
        if event in native:
            return in_c(event, arguments) if is_foreign(frame) else None
        if event == "object.__getattr__":
            return f"read {arguments[1]}" if arguments[1] in attributes and is_foreign(frame) else None
        name = arguments[1] if len(arguments) > 1 else None
        is_named = event == "marshal.loads" or (isinstance(name, (str, bytes)) and is_installed(decode(name)))
        is_own = is_installed(frame.f_code.co_filename)
        return "made code under the name of an installed file" if is_named and not is_own else None

    watched = {*searches, *frames, *native, *code, "object.__getattr__"}
    thread, looking = get_ident, set[int]()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # The hook itself looks at a frame, which is an event as well.
        if event not in watched or thread() in looking:
            return
        looking.add(thread())
        frame = current(1)
        looking.discard(thread())
        if reason := refusal(event, arguments, frame):
            found.append(reason)
            raise refused(f"The snippet {reason}. A benchmark may not do that.")

    return hook


def _in_c() -> Callable[[str, tuple[Any, ...]], str | None]:
    """What a snippet does in such an event of `ctypes`, if it is refused."""
    memory, lookups = MEMORY, LOOKUPS

    def in_c(event: str, arguments: tuple[Any, ...]) -> str | None:
        if event in memory:
            return f"read memory ({event})"
        wanted = str(arguments[1])
        is_refused = wanted.startswith(("Py", "_Py")) or wanted in lookups
        return f"called {wanted} with ctypes" if is_refused else None

    return in_c


def _loading_hook(snippets: Path, loads: Callable[[], None]) -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook that calls `loads` when a snippet loads code in C, by itself or through a function of PyTorch."""
    is_installed, is_foreign = predicates(snippets)
    library, loading, loaders, current = LIBRARY, {LIBRARY, MODULE}, LOADERS, sys._getframe  # noqa: SLF001

    def is_machinery(file: str) -> bool:
        return file.startswith("<frozen importlib") or file.endswith("/ctypes/__init__.py")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in loading:
            return
        path = arguments[0] if event == library else arguments[1]
        is_own = isinstance(path, str) and not is_installed(path)
        if not is_own and event != library:
            return
        frame: FrameType | None = current(1)
        while frame is not None and is_machinery(frame.f_code.co_filename):
            frame = frame.f_back
        if is_foreign(frame) or (is_own and frame is not None and frame.f_code.co_filename.endswith(loaders)):
            loads()

    return hook


def predicates(snippets: Path) -> tuple[Callable[[str], bool], Callable[[FrameType | None], bool]]:
    """Whether a file is installed, and whether a frame is a snippet's.

    A frame of a function that acts for its caller is the caller's.
    """
    roots, own, helpers = _roots(), f"{snippets}/", dict(HELPERS)

    def is_installed(file: str) -> bool:
        return file.startswith(roots) and not file.startswith(own)

    def is_helper(frame: FrameType) -> bool:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        return is_installed(file) and any(
            file.endswith("/" + end) and (names is None or name in names) for end, names in helpers.items()
        )

    def is_foreign(frame: FrameType | None) -> bool:
        while frame is not None and is_helper(frame):
            frame = frame.f_back
        return frame is not None and not is_installed(frame.f_code.co_filename)

    return is_installed, is_foreign


def _roots() -> tuple[str, ...]:
    """The folders of Python's library, of installed packages, also those of PYTHONPATH, and of this package.

    Setuptools installs a package editably, if its folder cannot be on `sys.path`, with a module that maps the names of
    packages to their folders.
    """
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    packages = [str(Path(torch.__file__).parents[1]), str(Path(__file__).parents[1])]
    on_path = [entry for entry in sys.path if Path(entry).is_absolute()]
    finders = [module for name, module in sys.modules.items() if name.startswith("__editable___")]
    editable = [folder for finder in finders for folder in getattr(finder, "MAPPING", {}).values()]
    roots = (*folders, *site.getsitepackages(), *packages, *on_path, *editable)
    return (*(f"{folder}/" for folder in roots), "<frozen ")
