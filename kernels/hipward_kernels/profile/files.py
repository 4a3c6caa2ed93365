"""Reads text files and tables that may be compressed."""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_text(path: Path) -> TextIO:
    """Opens a text file, which is decompressed if its name ends in `.gz`."""
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, "rt", encoding="utf-8-sig"))
    return path.open(encoding="utf-8-sig")


def rows(path: Path, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file that has these columns, by the names of its columns.

    Raises:
        ValueError: A column is missing, a row is cut off, or the file cannot be read.
    """
    line = 1
    try:
        with open_text(path) as file:
            reader = csv.DictReader(file)
            _check([name for name in columns if name not in (reader.fieldnames or [])])
            for row in reader:
                line = reader.line_num
                _check([name for name in columns if row[name] is None])
                yield row
    # A program that was stopped leaves an incomplete file.
    except (ValueError, EOFError, OSError, csv.Error) as error:
        raise ValueError(f"{path}, near line {line}: {error}") from error


def _check(missing: list[str]) -> None:
    if missing:
        raise ValueError(f"it lacks the columns {', '.join(missing)}")


def whole(row: dict[str, str], name: str) -> int:
    """The integer in a column; some tools write it with a decimal point.

    Raises:
        ValueError: The value is not an integer.
    """
    text = row[name]
    try:
        return int(text) if text.lstrip("-").isdigit() else int(float(text))
    except (ValueError, OverflowError):
        raise ValueError(f"the column {name} holds {text!r}, which is no whole number") from None
