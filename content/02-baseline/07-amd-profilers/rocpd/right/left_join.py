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
        # Ids of kernels are per recording, so each recording is joined with its own symbols.
        query = f"""
            SELECT COALESCE(k.display_name, k.kernel_name), d.start, d."end",
                   COALESCE(d.private_segment_size, 0)
            FROM "rocpd_kernel_dispatch{recording}" AS d
            LEFT JOIN "rocpd_info_kernel_symbol{recording}" AS k ON k.id = d.kernel_id
            WHERE d."end" IS NOT NULL"""
        # end: query
        rows += [Dispatch(*row) for row in database.execute(query)]
    return sorted(rows, key=lambda row: row.start_ns)


def hotspots(launches: Sequence[Dispatch]) -> list[Hotspot]:
    """The kernels, longest total time first."""
    times: dict[str, list[int]] = defaultdict(list)
    for launch in launches:
        times[launch.kernel].append(launch.end_ns - launch.start_ns)
    # hole: hotspots
    everything = sum(map(sum, times.values()))
    found = [Hotspot(name, len(ns), sum(ns), 100 * sum(ns) / everything) for name, ns in times.items()]
    # By total time: a short kernel that runs a thousand times matters more than one long launch.
    return sorted(found, key=lambda hotspot: hotspot.total_ns, reverse=True)
    # end: hotspots


def spilling(launches: Sequence[Dispatch]) -> set[str]:
    """Names of the kernels that use scratch memory, because their registers did not suffice."""
    # hole: spilling
    return {row.kernel for row in launches if row.scratch_bytes}
    # end: spilling
