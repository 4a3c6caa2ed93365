"""The rows of the result file: one for each problem and device."""

from __future__ import annotations

import csv
import itertools
import math
import os
from statistics import median
from typing import TYPE_CHECKING, Any

from hipward_kernels.harness.sampling import median_interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hipward_kernels.kernelbench.workers import Outcome

COLUMNS = (
    "problem",
    "id",
    "device",
    "cores",
    "torch",
    "triton",
    "wall_limit_s",
    "end",
    "seconds",
    "longest_step",
    "longest_step_s",
    "times_ms",
    "fastest",
    "over_eager",
    "over_compile",
    "step",
    "step_over_compile",
    "reference",
    "seeds",
    "not_timed",
    "reason",
    "date",
)
"""The columns.

* `id`, `device`: the harness's name of the device, and its product name.
* `cores`: cores of the host that the job may use, for jobs on the CPU.
* `wall_limit_s`: time limit of the job.
* `end`: `verdict` if eager and another variant were timed, `reason` if the job ended with an error message, `none` if
  it ended with neither.
* `seconds`: from sending the job to a worker that has imported PyTorch to its last line.
* `times_ms`: median of each variant, cold, with half the width of its interval in percent.
* `fastest`: the fastest variant except the control, and by how many times it is faster than eager and torch.compile.
* `step`: the fastest variant of Hipward's own, and by how many times it is faster than torch.compile.
* `reference`, `seeds`: precision of the reference, and number of inputs that each result was compared on.
* `not_timed`: variants without times, with the reason.
"""

Row = dict[str, str]

NOT_APPLICABLE = ("found in Model", "includes everything that Model", "Model has no linear layer", "Nothing for it")
"""Parts of the reasons for which a step does not apply to a model; these are not listed."""


def read(path: Path) -> list[Row]:
    """The rows of a file; none if it does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Sequence[Row]) -> None:
    """Writes all rows, sorted by device and problem."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["device"], _number(row["problem"]))))
    partial.replace(path)


def _number(problem: str) -> tuple[str, int, str]:
    level, _, name = problem.partition("/")
    number = name.partition("_")[0]
    return level, int(number) if number.isdigit() else 0, name


def row_of(problem: str, device: str, outcome: Outcome) -> Row:
    """The row of a job."""
    environment = next(iter(outcome.of("environment")), {})
    samples: dict[str, list[float]] = {}
    for line in outcome.of("samples"):
        samples.setdefault(line["variant"], []).extend(line["ms"])
    # A rejected variant has no times.
    rejected = {line["variant"]: str(line.get("reason")) for line in outcome.of("precision") if not line["passed"]}
    timed = {variant: ms for variant, ms in samples.items() if variant not in rejected}
    medians = {variant: median(ms) for variant, ms in timed.items()}
    others = {variant: ms for variant, ms in medians.items() if variant != "eager-control"}
    fastest = min(others, key=lambda variant: others[variant]) if "eager" in others else ""
    steps = {variant: ms for variant, ms in others.items() if variant not in ("eager", "compile")}
    step = min(steps, key=lambda variant: steps[variant], default="")
    error = next(iter(outcome.of("error")), None)
    end, reason = _end(outcome, error, medians)
    longest, longest_s = _longest_step(outcome)
    left = {line["variant"]: str(line["reason"]) for line in outcome.of("unavailable")} | rejected
    gate = next(iter(outcome.of("precision", "eager")), {})
    return {
        "problem": problem,
        "id": device,
        "device": str(environment.get("device_name", "")),
        "cores": str(len(os.sched_getaffinity(0))) if device == "cpu" else "",
        "torch": str(environment.get("torch", "")),
        "triton": str(environment.get("triton", "")),
        "wall_limit_s": f"{outcome.limit_s:g}",
        "end": end,
        "seconds": f"{outcome.seconds:.1f}",
        "longest_step": longest,
        "longest_step_s": f"{longest_s:.1f}",
        "times_ms": "; ".join(f"{variant} {_time(ms)}" for variant, ms in timed.items()),
        "fastest": fastest,
        "over_eager": _ratio(medians, "eager", fastest),
        "over_compile": _ratio(medians, "compile", fastest),
        "step": step,
        "step_over_compile": _ratio(medians, "compile", step),
        "reference": str(gate.get("reference", "")),
        "seeds": str(gate.get("seeds", "")),
        "not_timed": "; ".join(f"{variant}: {why}" for variant, why in left.items() if _tells(variant, why)),
        "reason": reason,
        "date": _today(),
    }


def _end(outcome: Outcome, error: dict[str, Any] | None, medians: dict[str, float]) -> tuple[str, str]:
    if error is not None:
        return "reason", f"{error['code']}: {error['message']}"
    if outcome.of("finished"):
        return ("verdict", "") if len(medians) > 1 else ("none", "nothing to compare eager with")
    return "none", "the time limit was exceeded" if outcome.stopped else f"the worker ended with {outcome.status}"


def _tells(variant: str, why: str) -> bool:
    """Whether a reason is about this problem. KernelBench has no ModelNew, and most steps do not apply."""
    return variant != "model-new" and not any(part in why for part in NOT_APPLICABLE)


def _longest_step(outcome: Outcome) -> tuple[str, float]:
    """Name and duration of the longest step."""
    steps = [(seconds, line) for seconds, line in outcome.lines if line["type"] == "step"]
    steps.append((outcome.seconds, {}))
    lasted = [
        (after - begun, f"{line['step']} {line.get('variant', '')}".strip())
        for (begun, line), (after, _) in itertools.pairwise(steps)
    ]
    seconds, name = max(lasted, default=(0.0, ""))
    return name, seconds


def _time(ms: Sequence[float]) -> str:
    middle, low, high = median_interval(list(ms))
    return f"{middle:.4g} ±{50 * (high - low) / middle:.1f}%"


def _ratio(medians: dict[str, float], over: str, fastest: str) -> str:
    return f"{medians[over] / medians[fastest]:.3f}" if fastest in medians and over in medians else ""


def _today() -> str:
    from datetime import datetime, timezone  # noqa: PLC0415 - one use

    return datetime.now(timezone.utc).date().isoformat()


def summary(rows: Sequence[Row]) -> str:
    """For each device: how the problems ended, and how long they took."""
    lines = []
    for device in sorted({row["device"] for row in rows}):
        its = [row for row in rows if row["device"] == device]
        ends = [row["end"] for row in its]
        seconds = sorted(float(row["seconds"]) for row in its)
        late = seconds[math.ceil(0.95 * len(seconds)) - 1]
        lines.append(
            f"{device}: {len(its)} problems, {ends.count('verdict')} with a verdict, {ends.count('reason')} with a "
            f"reason, {ends.count('none')} with neither; median {median(seconds):.1f} s, 95th percentile {late:.1f} s, "
            f"longest {seconds[-1]:.1f} s"
        )
    return "\n".join(lines) or "no rows"
