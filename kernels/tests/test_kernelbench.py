"""The sweep over KernelBench problems: which problems run, and what a row contains."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from test_harness import snippet

from hipward_kernels.kernelbench import __main__ as command
from hipward_kernels.kernelbench.rows import COLUMNS, read, row_of, summary
from hipward_kernels.kernelbench.workers import Outcome

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(*lines: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    return [(float(at), line) for at, line in enumerate(lines)]


TIMED = lines_of(
    {"type": "environment", "device_name": "A GPU", "torch": "2.11", "triton": "3.6"},
    {"type": "step", "step": "compile", "variant": "compile"},
    {"type": "precision", "variant": "eager", "passed": True, "reference": "float64", "seeds": 5},
    {
        "type": "unavailable",
        "variant": "fused-ops",
        "reason": "No module or function that a fused op computes was found in Model.",
    },
    {"type": "unavailable", "variant": "everything", "reason": "Left out: no time."},
    {"type": "step", "step": "timing"},
    {"type": "samples", "variant": "eager", "round": 0, "ms": [4.0] * 10},
    {"type": "samples", "variant": "eager-control", "round": 0, "ms": [3.9] * 10},
    {"type": "samples", "variant": "compile", "round": 0, "ms": [2.0] * 10},
    {"type": "samples", "variant": "attention-routing", "round": 0, "ms": [0.1] * 10},
    {"type": "precision", "variant": "attention-routing", "passed": False, "reason": "It returned NaN."},
    {"type": "finished"},
)


def test_row_has_the_times_of_variants_that_were_not_rejected() -> None:
    row = row_of("level1/1_X", "cuda:0", Outcome(TIMED, 11.0, stopped=False, status=0, limit_s=300.0))
    assert tuple(row) == COLUMNS
    assert row["end"] == "verdict"
    assert row["times_ms"] == "eager 4 ±0.0%; eager-control 3.9 ±0.0%; compile 2 ±0.0%"
    assert (row["fastest"], row["over_eager"], row["over_compile"]) == ("compile", "2.000", "1.000")
    assert row["not_timed"] == "everything: Left out: no time.; attention-routing: It returned NaN."
    assert (row["longest_step"], row["longest_step_s"]) == ("timing", "6.0")
    assert (row["reference"], row["seeds"], row["wall_limit_s"]) == ("float64", "5", "300")


@pytest.mark.parametrize(
    ("lines", "stopped", "end", "reason"),
    [
        ([{"type": "error", "code": "memory-limit", "message": "Too large."}], False, "reason", "memory-limit: Too l"),
        ([{"type": "accepted"}], True, "none", "the time limit was exceeded"),
        ([{"type": "accepted"}], False, "none", "the worker ended with -9"),
        ([{"type": "finished"}], False, "none", "nothing to compare eager with"),
    ],
)
def test_row_states_how_a_job_without_times_ended(
    lines: list[dict[str, Any]], stopped: bool, end: str, reason: str
) -> None:
    row = row_of("level1/1_X", "cuda:0", Outcome(lines_of(*lines), 300.0, stopped, -9, 300.0))
    assert (row["end"], row["fastest"], row["over_eager"]) == (end, "", "")
    assert row["reason"].startswith(reason)


def test_every_nth_problem_of_a_level_is_selected_by_number(tmp_path: Path) -> None:
    for level in ("level1", "level2"):
        (tmp_path / level).mkdir()
        for number in range(1, 12):
            (tmp_path / level / f"{number}_P.py").touch()
    (tmp_path / "level1" / "notes.py").touch()
    names = [name for name, _ in command.problems(tmp_path, 3, 1, ["level2", "level1"])]
    assert names == [f"{level}/{number}_P" for level in ("level2", "level1") for number in (2, 5, 8, 11)]


def test_sweep_continues_with_problems_that_have_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "1_Add.py").write_text(snippet(), encoding="utf-8")
    (tmp_path / "level1" / "2_Wrong.py").write_text(snippet("x + missing"), encoding="utf-8")
    results = tmp_path / "rows.csv"
    arguments = ["kernelbench", "--folder", str(tmp_path), "--device", "cpu", "--variants", "eager,eager-control"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--time-cap", "0.2", "--results", str(results)])
    command.main()
    rows = read(results)
    assert [(row["problem"], row["end"]) for row in rows] == [("level1/1_Add", "verdict"), ("level1/2_Wrong", "reason")]
    assert "name 'missing' is not defined" in rows[1]["reason"]
    assert "2 problems, 1 with a verdict, 1 with a reason, 0 with neither" in summary(rows)
    capsys.readouterr()
    command.main()
    printed = capsys.readouterr().out
    assert "level1/" not in printed
    assert printed.strip() == summary(rows)


def test_problem_that_needs_more_memory_than_the_limit_ends_with_this_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "level1").mkdir()
    problem = snippet("(x.sum() + torch.ones(1 << 31)).sum()")
    (tmp_path / "level1" / "1_Large.py").write_text(problem, encoding="utf-8")
    results = tmp_path / "rows.csv"
    arguments = ["kernelbench", "--folder", str(tmp_path), "--device", "cpu", "--variants", "eager,eager-control"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--memory-limit", "4", "--results", str(results)])
    command.main()
    (row,) = read(results)
    assert row["end"] == "reason"
    assert row["reason"].startswith("memory-limit")
