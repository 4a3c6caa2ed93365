"""Paths of the content folder, and the error that every check raises."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

CONTENT = Path(__file__).resolve().parent.parent
# The repository's Python package, which lessons and judges import without an installation.
KERNELS = CONTENT.parent / "kernels"


def environment() -> dict[str, str]:
    """Environment of a subprocess: no GPU, and hipward_kernels can be imported."""
    path = os.pathsep.join(filter(None, [str(KERNELS), os.environ.get("PYTHONPATH")]))
    return os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": path}


class LessonError(Exception):
    """An error in a file, with a message for the author."""


def expect(condition: object, message: str) -> None:
    if not condition:
        raise LessonError(message)


def read_beside(folder: Path, name: str) -> str:
    """The text of a file in the folder of a lesson."""
    path = folder / name
    expect(path.is_file() and path.parent == folder, f"there is no {name} in the lesson's folder")
    return path.read_text(encoding="utf-8")


def load(path: Path) -> ModuleType:
    """Import a file as a module that is named after it."""
    spec = spec_from_file_location(path.stem, path)
    expect(spec is not None and spec.loader is not None, "cannot be imported")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # so that dataclasses and inspect find it
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module
