"""The record of measurements: appended to, never rewritten, never without conditions."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

import pytest

from hipward_kernels import bench, results

if TYPE_CHECKING:
    from pathlib import Path


def test_a_real_run_appends_rows_with_their_conditions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "results.csv"
    arguments = ["bench", "--device", "cpu", "--dtype", "float32", "--shape", "8x64", "--time-cap", "0.05"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--results", str(file)])
    monkeypatch.setattr("torch.compile", lambda function, **_: function)  # Compiling is tested elsewhere, and slow.
    for times_run in (1, 2):
        bench.main()
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert len(rows) == times_run * 22
    assert {row["op"] for row in rows} == {"rmsnorm", "add_rmsnorm", "silu_mul", "gelu_mul"}
    for row in rows:
        assert float(row["ci_low_ms"]) <= float(row["median_ms"]) <= float(row["ci_high_ms"])
        assert all(row[name] for name in ("device", "arch", "torch", "python", "clock", "cache", "stop_rule", "date"))
        assert (row["outcome"] in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS")) == (row["variant"] == "hipward")
        assert row["variant"] != "eager" or float(row["speedup"]) == 1.0


def test_a_file_with_other_columns_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("op,median\nrmsnorm,1\n")
    with pytest.raises(ValueError, match="has the columns"):
        results.append(file, [])
    assert file.read_text() == "op,median\nrmsnorm,1\n"
