"""The table of the fastest route by number of rows, fitted to a sweep for each architecture and weight.

A route that is faster for few rows may be slower for many, and documents disagree on which one it is. So nothing is
assumed: `fit` takes the times of the routes for several numbers of rows, and finds the split with the lowest cost.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import torch

TABLE = Path(__file__).with_name("route_table.csv")

PLAIN = "plain"
LEAST_GAIN = 0.02
"""Share of the time that another route than `plain` must save, on average over the measured numbers of rows; a split
must save twice that. Less is noise: on an H200, where PyTorch and cuBLASLt ran the same kernels, the times differed by
up to 1.2 %."""


@dataclass(frozen=True)
class Split:
    """The routes of a weight's product, split by the number of rows."""

    arch: str
    dtype: str
    n: int
    k: int
    rows: int | None
    """Largest number of rows for the route `few`; None if one route runs any number of rows."""
    few: str
    """Route for up to `rows` rows."""
    many: str
    """Route for more rows."""
    regret: float
    """Sum over the measured numbers of rows of the chosen route's relative loss against the fastest route."""
    source: str
    """Device, version and day of the sweep."""


COLUMNS = [field.name for field in fields(Split)]


def fit(times: Mapping[int, Mapping[str, float]]) -> tuple[int | None, str, str, float]:
    """The split with the lowest cost: the fields `rows`, `few`, `many` and `regret` of a `Split`.

    The cost is the sum over the measured numbers of rows of the chosen route's time relative to the fastest route's, so
    that small products count as much as large ones.

    Args:
        times: For each number of rows, the time of each route, in any unit.
    """
    sizes = sorted(times)
    if not sizes:
        raise ValueError("a split needs at least one measurement")
    routes = sorted(times[sizes[0]])
    relative = {(size, route): times[size][route] / min(times[size].values()) - 1 for size in sizes for route in routes}
    # A more complex choice must save more time than the noise of its measurements.
    least_gain = LEAST_GAIN * len(sizes)
    options: list[tuple[float, int | None, str, str]] = []
    for route in routes:
        extra = 0.0 if route == PLAIN else least_gain
        options.append((sum(relative[size, route] for size in sizes) + extra, None, route, route))
    for few, many in permutations(routes, 2):
        for last in sizes[:-1]:
            cost = sum(relative[size, few if size <= last else many] for size in sizes)
            options.append((cost + 2 * least_gain, last, few, many))
    _, split, few, many = min(options, key=lambda option: option[0])
    chosen = {size: few if split is None or size <= split else many for size in sizes}
    return split, few, many, sum(relative[size, route] for size, route in chosen.items())


def read(path: Path) -> list[Split]:
    """Reads a table."""
    with path.open(encoding="utf-8", newline="") as file:
        kinds: dict[str, Callable[[str], Any]] = {
            "n": int,
            "k": int,
            "rows": lambda text: int(text) if text else None,
            "regret": float,
        }
        return [
            Split(**{name: kinds.get(name, str)(text) for name, text in line.items()}) for line in csv.DictReader(file)
        ]


def write(path: Path, rows: Iterable[Split]) -> None:
    """Writes a table; a later row for the same weight replaces an earlier one."""
    merged = {(row.arch, row.dtype, row.n, row.k): row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(merged[key]), "regret": f"{merged[key].regret:.4f}"} for key in sorted(merged))


@lru_cache(maxsize=1)
def _table() -> Mapping[tuple[str, str, int, int], Split]:
    return {(row.arch, row.dtype, row.n, row.k): row for row in read(TABLE)}


def split_for(arch: str, dtype: torch.dtype, n: int | torch.SymInt, k: int | torch.SymInt) -> Split | None:
    """The split of a weight `[n, k]`, or None. Symbolic sizes, which some tracers use, are not in the table."""
    if not (isinstance(n, int) and isinstance(k, int)):
        return None
    return _table().get((arch, str(dtype).removeprefix("torch."), n, k))
