"""Results on disk: a JSON file per run of a script, and one CSV for published rows.

Both contain the conditions of each figure.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipward_kernels.bench.results import append_rows
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.sampling import StopRule
from hipward_kernels.harness.timing import clock_for
from hipward_kernels.models.config import Switches
from hipward_kernels.workshop.measuring import Interval, Split, Training
from hipward_kernels.workshop.options import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from hipward_kernels.harness.lines import Environment

RESULTS = Path(__file__).parents[2] / "results" / "models.csv"

LOSSES_KEPT = 9
"""Points of a loss curve that become rows; the JSON file has all of them."""


@dataclass(frozen=True)
class Record:
    """One subject with its measurements and their conditions."""

    subject: Subject
    training: Training
    conditions: dict[str, Any]

    def save(self, path: Path) -> None:
        """Writes the JSON file that `load` reads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Record:
    """Reads a file, or the file `metrics.json` of a directory.

    Raises:
        ValueError: It is not such a file.
    """
    if path.is_dir():
        path /= "metrics.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        subject, training = stored["subject"], stored["training"]
        return Record(
            Subject(**{**subject, "switches": Switches(**subject["switches"])}),
            Training(
                **{**training, "step_ms": Interval(**training["step_ms"]), "split": Split(**training["split"])},
            ),
            stored["conditions"],
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a result of a workshop script: {error!r}") from error


def conditions(device: torch.device) -> dict[str, Any]:
    """The conditions of this process at this moment."""
    # The number of steps is fixed instead of set by a stopping rule; the other conditions are those of the harness.
    here: Environment = environment(device, clock_for(device), StopRule())
    variables = [list(pair) for pair in here.variables]
    return {**asdict(here), "variables": variables, "stop_rule": "a fixed number of steps", "date": now()}


def now() -> str:
    """UTC, RFC 3339."""
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Row:
    """One figure with its conditions."""

    study: str
    """The script: `compare-versions`, `ablation`, `decode`, …"""
    version: str
    size: str
    batch_size: int
    sequence_length: int
    precision: str
    metric: str
    unit: str
    value: float
    low: float | None
    """Ends of the 95 % confidence interval of a median; of fewer than six samples, the smallest and the largest."""
    high: float | None
    samples: int
    switches: str
    device: str
    arch: str
    torch: str
    triton: str
    runtime: str
    driver: str
    python: str
    clock: str
    cache: str
    variables: str
    date: str


COLUMNS = [column.name for column in fields(Row)]


def row(study: str, subject: Subject, metric: str, unit: str, value: float | Interval, here: dict[str, Any]) -> Row:
    """A figure with its conditions."""
    interval = value if isinstance(value, Interval) else None
    return Row(
        study=study,
        version=subject.version,
        size=subject.size,
        batch_size=subject.batch_size,
        sequence_length=subject.sequence_length,
        precision=subject.precision,
        metric=metric,
        unit=unit,
        value=value.median if isinstance(value, Interval) else value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        samples=interval.samples if interval else 1,
        switches=str(subject.switches),
        device=here["device_name"],
        arch=here["arch"],
        torch=here["torch"],
        triton=here["triton"] or "",
        runtime=f"HIP {here['hip']}"
        if here["hip"]
        else f"CUDA {here['cuda']}"
        if here["arch"].startswith("sm_")
        else "",
        driver=here["driver"] or "",
        python=here["python"],
        clock=here["clock"],
        cache=here["cache"],
        variables=" ".join(f"{name}={value}" for name, value in here["variables"]),
        date=here["date"],
    )


def rows_of(study: str, record: Record) -> list[Row]:
    """The figures of a training run."""
    training, subject, here = record.training, record.subject, record.conditions
    figures: list[tuple[str, str, float | Interval | None]] = [
        ("step", "ms", training.step_ms),
        ("throughput", "tokens/s", training.tokens_per_second),
        ("forward", "ms", training.split.forward_ms),
        ("backward", "ms", training.split.backward_ms),
        ("optimizer", "ms", training.split.optimizer_ms),
        ("peak memory", "MiB", training.peak_memory_mib),
        ("saved for backward", "MiB", training.saved_mib),
        ("first step", "s", training.first_step_s),
        ("parameters without gradient", "tensors", float(len(training.without_gradient))),
    ]
    last = len(training.losses) - 1
    steps = sorted({round(last * share / (LOSSES_KEPT - 1)) for share in range(LOSSES_KEPT)})
    figures += [(f"loss before step {step + 1}", "nats/token", training.losses[step]) for step in steps]
    return [row(study, subject, metric, unit, value, here) for metric, unit, value in figures if value is not None]


def results_file(text: str) -> Path:
    """The CSV of `--results`, validated before anything is measured."""
    path = Path(text)
    try:
        append_rows(path, COLUMNS, [])
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return path


def append(path: Path, new: Sequence[Row]) -> None:
    """Appends rows to the CSV at `path`, which is created if it is missing.

    Raises:
        ValueError: The file there has other columns.
    """
    append_rows(path, COLUMNS, new)
