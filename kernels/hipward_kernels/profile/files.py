"""Opens text files that may be compressed."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from pathlib import Path


def open_text(path: Path) -> TextIO:
    """The text of a file; of what is compressed in it where its name ends in `.gz`."""
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")
