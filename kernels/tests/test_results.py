"""The record of measurements: rows are appended with their conditions and never rewritten."""

from __future__ import annotations

import csv
import itertools
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hipward_kernels.bench import op_cases, results, rivals, routed
from hipward_kernels.bench import ops as bench
from hipward_kernels.bench.core import RESULTS
from hipward_kernels.bench.op_cases import Case
from hipward_kernels.bench.rivals import QUACK, MissingRivalError
from hipward_kernels.bench.routed_cases import SIZES, cases

if TYPE_CHECKING:
    from pathlib import Path

RMSNORM = Case("rmsnorm", (8, 64), torch.bfloat16, torch.device("cuda"))


def test_run_appends_rows_with_their_conditions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new" / "results.csv"
    arguments = ["bench", "--device", "cpu", "--dtype", "float32", "--shape", "8x64", "--time-cap", "0.05"]
    arguments += ["--shape", "4x128"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--results", str(file)])
    monkeypatch.setattr("torch.compile", lambda function, **_: function)  # Compiling is tested elsewhere, and slow.
    for times_run in (1, 2):
        bench.main()
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert len(rows) == times_run * 2 * 39
    shapes = set(itertools.product(op_cases.ROW_OPS, ("8x64", "4x128")))
    assert {(row["op"], row["shape"]) for row in rows} == shapes
    for row in rows:
        assert float(row["ci_low_ms"]) <= float(row["median_ms"]) <= float(row["ci_high_ms"])
        assert all(row[name] for name in ("device", "arch", "torch", "python", "clock", "cache", "stop_rule", "date"))
        assert (row["outcome"] in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS")) == (row["variant"] == "hipward")
        assert row["variant"] != "eager" or float(row["speedup"]) == 1.0
        own = {
            "rmsnorm": ", F.rms_norm",
            "add_rmsnorm": ", add, F.rms_norm",
            "layernorm": ", F.layer_norm",
            "softmax": ", F.softmax",
        }
        assert row["rivals"] == f"torch.compile{own.get(row['op'], '')}", "Liger-Kernel has nothing for a CPU"


@pytest.fixture
def no_liger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without Liger-Kernel."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(rivals, "UNPACKED", tmp_path / "nothing")
    monkeypatch.setattr(rivals, "version", version)


@pytest.mark.usefixtures("no_liger")
def test_run_without_a_rival_ends_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.csv"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(sys, "argv", ["bench", "--device", "cuda", "--op", "rmsnorm", "--results", str(file)])
    with pytest.raises(SystemExit, match="2"):
        bench.main()
    said = " ".join(capsys.readouterr().err.split())
    assert "Liger-Kernel is not installed" in said
    assert "PYTHONPATH" in said, "how it is found without a network"
    assert "--without liger" in said
    assert not file.exists()


@pytest.mark.usefixtures("no_liger")
def test_omitted_rival_is_named_in_the_row() -> None:
    with pytest.raises(MissingRivalError):
        dict(RMSNORM.rivals())
    assert list(dict(RMSNORM.rivals(["liger"]))) == ["F.rms_norm"]
    assert bench.rivals_of(RMSNORM, ["liger"]) == "torch.compile, F.rms_norm, without Liger"
    assert bench.rivals_of(replace(RMSNORM, op="rope"), ["liger"]) == "torch.compile", "Liger is no rival there"


def test_rival_in_an_unpacked_wheel_is_found_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "liger_kernel" / "ops").mkdir(parents=True)
    (tmp_path / "liger_kernel" / "ops" / "rms_norm.py").write_text(
        "class LigerRMSNormFunction:\n    apply = staticmethod(lambda x, *rest: (x, *rest))\n"
    )
    information = tmp_path / "liger_kernel-9.8.7.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: liger-kernel\nVersion: 9.8.7\n")
    for name in [name for name in sys.modules if name.split(".")[0] == "liger_kernel"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert dict(RMSNORM.rivals())["Liger"]("x", "weight") == ("x", "weight", 1e-6, 0.0, "llama", False)
    assert bench.rivals_of(RMSNORM, []) == "torch.compile, F.rms_norm, Liger 9.8.7"
    with pytest.raises(MissingRivalError, match=r"Liger-Kernel 9\.8\.7 has no usable swiglu"):
        dict(replace(RMSNORM, op="silu_mul").rivals())


def test_rows_without_the_list_of_rivals_are_read() -> None:
    with (RESULTS / "results.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    assert list(rows[0]) == results.COLUMNS
    assert all(row["rivals"] == "" or row["rivals"].startswith("torch.compile") for row in rows)


def test_routed_parts_are_measured_with_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "routed.csv"
    arguments = ["bench.routed", "--device", "cpu", "--size", "tiny", "--time-cap", "0.01", "--results", str(file)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr("torch.compile", lambda function, **_: function)
    routed.main()
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


def test_operations_exclude_masked_positions() -> None:
    for _, make in cases(SIZES["tiny"], torch.bfloat16, torch.device("cpu")):
        case = make()
        arguments = case.arguments()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            case.eager(*arguments)
        shown = 1.0
        if case.op == "attention" and (mask := case.eager.keywords["mask"]) is not None:  # type: ignore[attr-defined]
            shown = float((mask == 0).float().mean())
        assert case.flops == pytest.approx(counter.get_total_flops() * shown), case


def test_file_with_other_columns_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("op,median\nrmsnorm,1\n")
    with pytest.raises(ValueError, match="has the columns"):
        results.append(file, [])
    assert file.read_text() == "op,median\nrmsnorm,1\n"


def test_quack_is_a_rival_on_new_nvidia_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(rivals, "version", missing)
    for capability, has in (((9, 0), True), ((8, 0), False)):
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda _, of=capability: of)
        assert QUACK.has("rmsnorm", RMSNORM.device) is has
        assert not QUACK.has("silu_mul", RMSNORM.device)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda _: (9, 0))
    with pytest.raises(MissingRivalError, match=r"QuACK is not installed.*--without quack"):
        dict(RMSNORM.rivals(["liger"]))
    assert list(dict(RMSNORM.rivals(["liger", "quack"]))) == ["F.rms_norm"]
    assert bench.rivals_of(RMSNORM, ["liger", "quack"]) == "torch.compile, F.rms_norm, without Liger, without quack"
