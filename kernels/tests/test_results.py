"""The record of measurements: appended to, never rewritten, never without conditions."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hipward_kernels import bench, bench_routed, results
from hipward_kernels.bench_routed_cases import SIZES, cases

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


def test_routed_parts_are_measured_beside_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "routed.csv"
    arguments = ["bench_routed", "--device", "cpu", "--size", "tiny", "--time-cap", "0.01", "--results", str(file)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr("torch.compile", lambda function, **_: function)
    bench_routed.main()
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {(row["op"], row["part"]) for row in rows} == {
        *(("attention", part) for part in ("prompt", "chunk of a prompt", "decode", "padded")),
        *(("projections", part) for part in ("query, key and value", "gate and up")),
        *(("linear", part) for part in ("shuffled weight, product", "shuffled weight, at load")),
    }
    for row in rows:
        ours = row["variant"] == "hipward"
        assert all(row[name] for name in ("device", "arch", "torch", "clock", "cache", "stop_rule", "date"))
        assert (row["outcome"] != "") == (row["route"] != "") == ours
        assert float(row["teraflops"]) == pytest.approx(float(row["flops"]) / float(row["median_ms"]) / 1e9, rel=1e-4)


def test_operations_are_those_that_pytorch_counts_less_what_a_mask_hides() -> None:
    for _, make in cases(SIZES["tiny"], torch.bfloat16, torch.device("cpu")):
        case = make()
        arguments = case.arguments()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            case.eager(*arguments)
        shown = 1.0
        if case.op == "attention" and (mask := case.eager.keywords["mask"]) is not None:  # type: ignore[attr-defined]
            shown = float((mask == 0).float().mean())
        assert case.flops == pytest.approx(counter.get_total_flops() * shown), case


def test_a_file_with_other_columns_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("op,median\nrmsnorm,1\n")
    with pytest.raises(ValueError, match="has the columns"):
        results.append(file, [])
    assert file.read_text() == "op,median\nrmsnorm,1\n"
