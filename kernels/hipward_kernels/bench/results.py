"""The record of what was measured: one CSV, to which rows are only ever appended.

A row is worth nothing without its conditions, so they are columns of it. Charts and pages read the file; nobody edits
it by hand.
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
    """Which rule ended the sampling."""
    gigabytes_per_second: float
    """Each input read once and each output written once, over the median."""
    copy_share: float
    """That, over what copying memory reaches on the same device in the same run."""
    speedup: float
    """Median of eager in the same run over this median."""
    same_copy_share: float | None
    """Median of copying as many bytes, in the same run, over this median."""
    peak_share: float | None
    """Of the data sheet's bandwidth; empty for a device that is not in `roofline.py`."""
    against_best: float
    """Median of the fastest rival in the same run over this median; `rivals` names them."""
    against_low: float | None
    """Lower end of the 95 % interval of that ratio, for ours."""
    against_high: float | None
    noise: float | None
    """The factor by which ours differed from itself in the same run: the far end of that ratio's interval."""
    outcome: str
    """What the interval says of ours beside the fastest rival: FASTER, SAME (within noise), SLOWER or AMBIGUOUS."""
    claimed: float | None
    """The speed-up over eager that the documents this project began with claim for the op, without conditions."""
    host_us: float | None
    """Microseconds that the host takes for the call, where the GPU's work is shorter."""
    host_over_torch_us: float | None
    """That, less what PyTorch's own op, or the fewest of its ops that do the same, takes; for ours."""
    note: str
    """Where a row of ours falls short, and what the same run says about why."""
    rivals: str
    """What was measured beside ours in the same run: torch.compile, PyTorch's own op (both of the PyTorch that the row
    names), Liger-Kernel with its version; `without Liger` where it was left out. Empty in rows from before this column:
    `against_best` is then over those rivals that have rows with the same `date`."""


@dataclass(frozen=True)
class Conditions:
    """What a measurement is worth nothing without."""

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
    """A measurement, then its conditions."""


COLUMNS = [field.name for field in fields(Row)]


def conditions_of(environment: Environment) -> Conditions:
    """The conditions of a run, as of now."""
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
    """Joins measurements of one run with its conditions."""
    conditions = asdict(conditions_of(environment))
    return [Row(**asdict(measurement), **conditions) for measurement in measurements]


def append(path: Path, new: Sequence[Row]) -> None:
    """Appends rows to the CSV at `path`, which is made if it is missing.

    Raises:
        ValueError: The file there has other columns.
    """
    append_rows(path, COLUMNS, new)


def append_rows(path: Path, columns: list[str], new: Sequence[Any]) -> None:
    """Appends dataclasses with these fields to the CSV at `path`, which is made if it is missing.

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
