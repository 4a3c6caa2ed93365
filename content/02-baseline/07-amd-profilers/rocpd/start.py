"""Reads rocpd, the SQLite database that rocprofv3 writes: which kernels take the time, and which spill registers."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Dispatch:
    """A kernel launch."""

    kernel: str
    start_ns: int
    end_ns: int
    scratch_bytes: int  # per thread; positive if registers were spilled


@dataclass(frozen=True)
class Hotspot:
    """All launches of one kernel."""

    kernel: str
    calls: int
    total_ns: int
    percent: float  # of the time of all kernels


def recordings(database: sqlite3.Connection) -> list[str]:
    """Suffixes of the tables. A database may contain several recordings."""
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    found = (re.fullmatch(r"rocpd_kernel_dispatch(\w*)", name) for (name,) in names)
    return sorted(match[1] for match in found if match)


def dispatches(database: sqlite3.Connection) -> list[Dispatch]:
    """Every launch that ended, in order of its start.

    Columns: `rocpd_kernel_dispatch…` has kernel_id, start, end, private_segment_size (scratch bytes);
    `rocpd_info_kernel_symbol…` has id, kernel_name, display_name.
    """
    rows: list[Dispatch] = []
    for recording in recordings(database):
        # hole: query
        query = ...
        # end: query
        rows += [Dispatch(*row) for row in database.execute(query)]
    return sorted(rows, key=lambda row: row.start_ns)


def hotspots(launches: Sequence[Dispatch]) -> list[Hotspot]:
    """The kernels, longest total time first."""
    times: dict[str, list[int]] = defaultdict(list)
    for launch in launches:
        times[launch.kernel].append(launch.end_ns - launch.start_ns)
    # hole: hotspots
    return ...
    # end: hotspots


def spilling(launches: Sequence[Dispatch]) -> set[str]:
    """Names of the kernels that use scratch memory, because their registers did not suffice."""
    # hole: spilling
    return ...
    # end: spilling
