"""The CSV of benchmark results, to which rows are only appended.

Each row contains its conditions. Charts and pages read the file; it is not edited by hand.
"""

from __future__ import annotations

import csv
import datetime as dt
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hipward_kernels.harness.lines import Environment


@dataclass(frozen=True)
class Measurement:
    """One variant of one op at one shape."""

    op: str
    variant: str
    shape: str
    """`16384x4096`"""
    dtype: str
    median_ms: float
    ci_low_ms: float
    """Lower end of the median's 95 % confidence interval."""
    ci_high_ms: float
    samples: int
    stop: str
    """The rule that ended the sampling."""
    gigabytes_per_second: float
    """The bytes of each input read once and each output written once, divided by the median."""
    copy_share: float
    """That rate divided by the rate of a memory copy on the same device in the same run."""
    speedup: float
    """Median of eager in the same run divided by this median."""
    same_copy_share: float | None
    """Median of copying as many bytes in the same run divided by this median."""
    peak_share: float | None
    """Share of the data sheet's bandwidth; empty for a device without one in `gpus.toml`."""
    against_best: float
    """Median of the fastest rival in the same run divided by this median; `rivals` names the rivals."""
    against_low: float | None
    """Lower end of the 95 % interval of that ratio, for ours."""
    against_high: float | None
    noise: float | None
    """The factor by which ours differed from itself in the same run: the end of that ratio's interval that is farther
    from 1."""
    outcome: str
    """The outcome of ours compared with the fastest rival: FASTER, SAME (within noise), SLOWER or AMBIGUOUS."""
    claimed: float | None
    """The speed-up over eager that the project's source documents claim for the op, without conditions."""
    host_us: float | None
    """Microseconds that the host needs for the call, if the GPU's work is shorter."""
    host_over_torch_us: float | None
    """That time minus the host time of PyTorch's own op, or of the smallest number of its ops; only for ours."""
    note: str
    """For a row of ours that is slower than a rival: by how much, and the cause if the same run shows it."""
    rivals: str
    """The rivals of the same run: torch.compile, PyTorch's own op (both of the PyTorch that the row names), and
    Liger-Kernel with its version, or `without Liger`. Rows that are older than this column leave it empty: their
    `against_best` covers the rivals that have rows with the same `date`."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement."""

    device: str
    arch: str
    torch: str
    triton: str
    runtime: str
    """`CUDA 13.0`, `HIP 7.1` or empty."""
    driver: str
    python: str
    clock: str
    clock_overhead_ms: float
    cache: str
    stop_rule: str
    variables: str
    """Environment variables that change results: `A=1 B=2`."""
    date: str
    """UTC, RFC 3339."""


@dataclass(frozen=True)
class Row(Conditions, Measurement):
    """A measurement and its conditions."""


COLUMNS = [field.name for field in fields(Row)]


def conditions_of(environment: Environment) -> Conditions:
    """The conditions of this run at this moment."""
    runtime = ""
    if environment.hip:
        runtime = f"HIP {environment.hip}"
    elif environment.cuda and environment.arch.startswith("sm_"):
        runtime = f"CUDA {environment.cuda}"
    return Conditions(
        device=environment.device_name,
        arch=environment.arch,
        torch=environment.torch,
        triton=environment.triton or "",
        runtime=runtime,
        driver=environment.driver or "",
        python=environment.python,
        clock=environment.clock,
        clock_overhead_ms=environment.clock_overhead_ms,
        cache=environment.cache,
        stop_rule=environment.stop_rule,
        variables=" ".join(f"{name}={value}" for name, value in environment.variables),
        date=dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
    )


def rows(measurements: Sequence[Measurement], environment: Environment) -> list[Row]:
    """Combines the measurements of one run with its conditions."""
    conditions = asdict(conditions_of(environment))
    return [Row(**asdict(measurement), **conditions) for measurement in measurements]


def append(path: Path, new: Sequence[Row]) -> None:
    """Appends rows to the CSV at `path` and creates it if it is missing.

    Raises:
        ValueError: The file there has other columns.
    """
    append_rows(path, COLUMNS, new)


def append_rows(path: Path, columns: list[str], new: Sequence[Any]) -> None:
    """Appends dataclasses with these fields to the CSV at `path` and creates it if it is missing.

    Raises:
        ValueError: The file there has other columns.
    """
    exists = path.exists() and path.stat().st_size > 0
    if exists:
        with path.open(encoding="utf-8", newline="") as file:
            found = next(csv.reader(file))
        if found != columns:
            raise ValueError(f"{path} has the columns {found}; these rows have {columns}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if not exists:
            writer.writeheader()
        for row in new:
            writer.writerow(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in asdict(row).items()}
            )
