"""Reads rocpd, the SQLite database that rocprofv3 and rocprof-sys write by default.

Two layouts are supported: times in the table of dispatches and, in later versions, times in a separate table. Names of
tables contain the recording's id; the views without it need an extension of SQLite in later versions, so the tables
are read. Layout: rocprofiler-sdk, `source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql`.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from hipward_kernels.profile.dispatch import Dispatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIMES_INSIDE = """
    SELECT COALESCE(k.display_name, k.kernel_name, 'kernel ' || d.kernel_id), d.start, d.end,
           k.arch_vgpr_count, k.accum_vgpr_count, k.sgpr_count,
           COALESCE(d.group_segment_size, 0), COALESCE(d.private_segment_size, 0),
           d.workgroup_size_x * d.workgroup_size_y * d.workgroup_size_z, d.grid_size_x * d.grid_size_y * d.grid_size_z
    FROM "rocpd_kernel_dispatch{id}" AS d LEFT JOIN "rocpd_info_kernel_symbol{id}" AS k ON k.id = d.kernel_id
    WHERE d.start IS NOT NULL AND d.end IS NOT NULL ORDER BY d.start"""

_TIMES_APART = """
    SELECT COALESCE(k.display_name, k.kernel_name, 'kernel ' || d.kernel_id), b.value, e.value,
           k.arch_vgpr_count, k.accum_vgpr_count, k.sgpr_count,
           COALESCE(d.group_segment_size, 0), COALESCE(d.private_segment_size, 0),
           d.workgroup_size_x * d.workgroup_size_y * d.workgroup_size_z, d.grid_size_x * d.grid_size_y * d.grid_size_z
    FROM "rocpd_kernel_dispatch{id}" AS d LEFT JOIN "rocpd_info_kernel_symbol{id}" AS k ON k.id = d.kernel_id
    JOIN "rocpd_timestamp{id}" AS b ON b.id = d.start_id JOIN "rocpd_timestamp{id}" AS e ON e.id = d.end_id
    WHERE b.value IS NOT NULL AND e.value IS NOT NULL ORDER BY b.value"""


_REGIONS_INSIDE = """
    SELECT s.string, r.start, r.end FROM "rocpd_region{id}" AS r JOIN "rocpd_string{id}" AS s ON s.id = r.name_id
    WHERE r.start IS NOT NULL AND r.end IS NOT NULL AND substr(s.string, 1, length(:prefix)) = :prefix"""

_REGIONS_APART = """
    SELECT s.string, b.value, e.value FROM "rocpd_region{id}" AS r JOIN "rocpd_string{id}" AS s ON s.id = r.name_id
    JOIN "rocpd_timestamp{id}" AS b ON b.id = r.start_id JOIN "rocpd_timestamp{id}" AS e ON e.id = r.end_id
    WHERE b.value IS NOT NULL AND e.value IS NOT NULL AND substr(s.string, 1, length(:prefix)) = :prefix"""


def read(path: Path) -> list[Dispatch]:
    """Every kernel launch, in order; a kernel that did not end is left out.

    Raises:
        ValueError: The file is not a rocpd database.
    """
    dispatches: list[Dispatch] = []
    with _opened(path) as database:
        ids = _recordings(database, "rocpd_kernel_dispatch")
        if not ids:
            raise ValueError(f"{path} has no table of kernel dispatches")
        for recording in ids:
            inside = "start" in _columns(database, f"rocpd_kernel_dispatch{recording}")
            # The id is the suffix of a table name: letters, digits and underscores.
            query = (_TIMES_INSIDE if inside else _TIMES_APART).format(id=recording)
            dispatches += [Dispatch(*row) for row in database.execute(query)]
    return sorted(dispatches, key=lambda dispatch: dispatch.start_ns)


def read_regions(path: Path, prefix: str) -> list[tuple[str, int, int]]:
    """Name, start and end in nanoseconds of the host's function calls whose name begins with `prefix`.

    Raises:
        ValueError: The file is not a rocpd database.
    """
    regions: list[tuple[str, int, int]] = []
    with _opened(path) as database:
        for recording in _recordings(database, "rocpd_region"):
            inside = "start" in _columns(database, f"rocpd_region{recording}")
            query = (_REGIONS_INSIDE if inside else _REGIONS_APART).format(id=recording)
            regions += database.execute(query, {"prefix": prefix}).fetchall()
    return regions


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} is no rocpd database: {error}") from error


def _recordings(database: sqlite3.Connection, table: str) -> list[str]:
    """The ids of the recordings that have this table."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [found[1] for (name,) in tables if (found := re.fullmatch(rf"{table}(\w*)", name))]


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}
