"""From how many rows on which route is faster: fitted to a sweep, for each architecture and weight.

A route that wins for few rows need not win for many, and documents disagree which way round it is. So nothing is
assumed: `fit` takes the times of two routes over numbers of rows, and finds the number, and the order, that cost least
in all.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import torch

TABLE = Path(__file__).with_name("thresholds.csv")

PLAIN = "plain"
WORTH = 0.02
"""Of the time, on average over the measured numbers of rows: what another route than `plain` must save, and a threshold
twice. Less is noise: on an H200, where PyTorch and cuBLASLt ran the same kernels, one was up to 1.2 % ahead."""

EVERYTHING = 2**62
"""As a threshold: one route for any number of rows."""


@dataclass(frozen=True)
class Threshold:
    """Which route runs a weight's product."""

    arch: str
    dtype: str
    n: int
    k: int
    rows: int
    """The most rows that are few."""
    few: str
    """Route for few rows."""
    many: str
    """Route for more."""
    regret: float
    """Time over that of the faster route at each measured number of rows, in all.

    0 where a threshold parts them well.
    """
    source: str
    """Device, version and day of the sweep."""


COLUMNS = [field.name for field in fields(Threshold)]


def fit(times: Mapping[int, Mapping[str, float]]) -> tuple[int, str, str, float]:
    """The threshold that costs least: most rows that are few, route for few, route for many, and regret.

    Cost is relative, the sum over the measured numbers of rows of the chosen route's time over the faster one's, so
    that small products count as much as large ones.

    Args:
        times: For each number of rows, the time of each route, in any unit.
    """
    sizes = sorted(times)
    if not sizes:
        raise ValueError("a threshold needs at least one measurement")
    routes = sorted(times[sizes[0]])
    relative = {(size, route): times[size][route] / min(times[size].values()) - 1 for size in sizes for route in routes}
    # What is more to explain must save more than the noise of its measurements.
    worth = WORTH * len(sizes)
    options: list[tuple[float, int, str, str]] = []
    for route in routes:
        extra = 0.0 if route == PLAIN else worth
        options.append((sum(relative[size, route] for size in sizes) + extra, EVERYTHING, route, route))
    for few, many in permutations(routes, 2):
        for last in sizes[:-1]:
            cost = sum(relative[size, few if size <= last else many] for size in sizes)
            options.append((cost + 2 * worth, last, few, many))
    _, last, few, many = min(options, key=lambda option: option[0])
    return last, few, many, sum(relative[size, few if size <= last else many] for size in sizes)


def read(path: Path) -> list[Threshold]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        kinds = {"n": int, "k": int, "rows": int, "regret": float}
        return [
            Threshold(**{name: kinds.get(name, str)(text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]


def write(path: Path, rows: Iterable[Threshold]) -> None:
    """Writes a table; a later row for the same weight replaces an earlier one."""
    merged = {(row.arch, row.dtype, row.n, row.k): row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(merged[key]), "regret": f"{merged[key].regret:.4f}"} for key in sorted(merged))


@lru_cache(maxsize=1)
def _table() -> Mapping[tuple[str, str, int, int], Threshold]:
    return {(row.arch, row.dtype, row.n, row.k): row for row in read(TABLE)}


def threshold_for(arch: str, dtype: torch.dtype, n: int | torch.SymInt, k: int | torch.SymInt) -> Threshold | None:
    """What was fitted for a weight `[n, k]`, or None; a size that is a symbol, which some tracers use, has nothing."""
    if not (isinstance(n, int) and isinstance(k, int)):
        return None
    return _table().get((arch, str(dtype).removeprefix("torch."), n, k))
