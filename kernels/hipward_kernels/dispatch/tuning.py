"""The table of tuned choices: which tier runs an op at a shape on an architecture, and with which launch parameters.

A CSV with rows from a sweep (`python -m hipward_kernels.bench.tuner`) or written by hand:

    arch,op,dtype,rows,columns,tier,parameters,source
    sm_90,rmsnorm,bfloat16,16384,4096,hip,row_threads=128 rows=1,H200 sweep 2026-11-21

A row applies to its number of columns, and to its number of rows or more, up to the next row of the table.
`HIPWARD_TUNED` names further files, separated as in PATH; rows of a later file replace those of an earlier one. The
registry logs choices at level INFO.
"""

from __future__ import annotations

import csv
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import torch

SHIPPED = Path(__file__).parent / "tuned.csv"


class TableError(ValueError):
    """A table of tuned choices cannot be read. The message states the file, the line and the reason."""


@dataclass(frozen=True)
class Choice:
    """One row of the table."""

    arch: str
    op: str
    dtype: str
    rows: int
    """The smallest number of rows that it applies to."""
    columns: int
    tier: str
    parameters: str
    """`name=number` pairs, separated by spaces; the tier defines their meaning."""
    source: str
    """Origin of the row: device and date of a sweep."""

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """Everything that the row applies to."""
        return self.arch, self.op, self.dtype, self.rows, self.columns

    def numbers(self) -> dict[str, int]:
        """`parameters` as numbers."""
        pairs = (pair.split("=") for pair in self.parameters.split())
        return {name: int(value) for name, value in pairs}


COLUMNS = [field.name for field in fields(Choice)]


def read(path: Path) -> list[Choice]:
    """The rows of one file.

    Raises:
        TableError: The file is missing, has other columns, or has a malformed row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != COLUMNS:
                raise TableError(f"{path} has the columns {reader.fieldnames}; a table of choices has {COLUMNS}")
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path} cannot be read: {error}") from error
    choices = []
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise TableError(f"{path}, line {line}: a row has {len(COLUMNS)} cells")
        numbers = {}
        for name in ("rows", "columns"):
            if not (row[name].isascii() and row[name].isdigit()):
                raise TableError(f"{path}, line {line}: {name} is {row[name]!r}, not a number from 0")
            numbers[name] = int(row[name])
        choice = Choice(**{**row, **numbers})  # type: ignore[arg-type]
        try:
            choice.numbers()
        except ValueError as error:
            raise TableError(f"{path}, line {line}: parameters are name=number, not {choice.parameters!r}") from error
        choices.append(choice)
    return choices


def merge(tables: Iterable[Iterable[Choice]]) -> list[Choice]:
    """Merges tables; of rows with the same key, the last one is used."""
    merged = {choice.key: choice for table in tables for choice in table}
    return [merged[key] for key in sorted(merged)]


def write(path: Path, choices: Iterable[Choice]) -> None:
    """Writes a table, sorted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(choice) for choice in merge([choices]))


@lru_cache(maxsize=8)
def _table(named: str) -> Mapping[tuple[str, str, str, int], tuple[Choice, ...]]:
    """The shipped table and those of `HIPWARD_TUNED`, by every key but rows; largest number of rows first."""
    paths = [SHIPPED, *(Path(path) for path in named.split(os.pathsep) if path)]
    table: dict[tuple[str, str, str, int], tuple[Choice, ...]] = {}
    for choice in reversed(merge(read(path) for path in paths)):
        key = (choice.arch, choice.op, choice.dtype, choice.columns)
        table[key] = (*table.get(key, ()), choice)
    return table


def choice(arch: str, op: str, dtype: torch.dtype, rows: int, columns: int) -> Choice | None:
    """The tuned choice for a shape, or None."""
    if _forced is not None and _forced.op == op:
        return _forced
    key = (arch, op, str(dtype).removeprefix("torch."), columns)
    for row in _table(os.environ.get("HIPWARD_TUNED", "")).get(key, ()):
        if row.rows <= rows:
            return row
    return None


def has_tier(arch: str, op: str, dtype: str, columns: int, tier: str) -> bool:
    """Whether the table has this tier for some number of rows of a length."""
    if _forced is not None and _forced.op == op:
        return _forced.tier == tier
    found = _table(os.environ.get("HIPWARD_TUNED", "")).get((arch, op, dtype, columns), ())
    return any(row.tier == tier for row in found)


_forced: Choice | None = None
generation = 0
"""Incremented when choices change, so that caches of decisions can be invalidated."""


@contextmanager
def forced(wanted: Choice) -> Iterator[None]:
    """Makes `wanted` the choice for every shape of its op within a `with` block; used by sweeps."""
    global _forced, generation
    before = _forced
    _forced, generation = wanted, generation + 1
    try:
        yield
    finally:
        _forced, generation = before, generation + 1
