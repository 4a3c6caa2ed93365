"""The ablation of the options of torch.compile: which are measured, what the gate rejects, and the published rows."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from hipward_kernels.harness import contract
from hipward_kernels.measure import compile_options
from hipward_kernels.measure.compile_options import COLUMNS, RULE, Converted, changing, combinations, has_effect, parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

ROOT = Path(__file__).parent.parent
LESSON = ROOT.parent / "content" / "03-optimize" / "04-compile-options"

SNIPPET = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, 64))

    def forward(self, x):
        return torch.tanh(x) * self.weight

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(16, 64)]
"""


@pytest.fixture
def snippet(tmp_path: Path) -> contract.Snippet:
    return contract.load(SNIPPET, tmp_path, torch.device("cpu"))


def test_options_are_parsed_as_python_values() -> None:
    assert parsed(["freezing=True", "max_autotune_gemm_backends=ATEN", "triton.multi_kernel=2"]) == {
        "freezing": True,
        "max_autotune_gemm_backends": "ATEN",
        "triton.multi_kernel": 2,
    }


@pytest.mark.parametrize(
    ("text", "message"), [("freezing", "write NAME=VALUE"), ("no_such=1", "no option of Inductor")]
)
def test_invalid_option_is_reported(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsed([text])


def test_defaults_are_not_measured() -> None:
    changed, left = changing({"freezing": True, "epilogue_fusion": True, "of_another_version": 1})
    assert changed == {"freezing": True}
    assert left[0] == "epilogue_fusion=True is the default"
    assert left[1].endswith("has no option of_another_version")


def test_epilogue_fusion_needs_autotuning() -> None:
    assert not has_effect({"epilogue_fusion": False, "freezing": True})
    assert has_effect({"epilogue_fusion": False, "max_autotune": True})


def test_each_option_is_measured_alone_and_all_together() -> None:
    options = {"freezing": True, "max_autotune": True, "epilogue_fusion": False}
    assert list(combinations(options, all_of_them=False)) == [
        {"freezing": True},
        {"max_autotune": True},
        {"epilogue_fusion": False, "max_autotune": True},
        options,
    ]


def test_every_combination_that_has_an_effect_is_measured_once() -> None:
    options = {"freezing": True, "max_autotune": True, "epilogue_fusion": False}
    found = [frozenset(chosen) for chosen in combinations(options, all_of_them=True)]
    assert len(set(found)) == len(found) == 5
    assert frozenset({"epilogue_fusion"}) not in found


def test_wrong_results_and_failures_are_not_timed(snippet: contract.Snippet, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_compile(model: nn.Module, *, options: dict[str, Any]) -> Callable[..., Any]:
        if options.get("freezing"):
            raise RuntimeError("no compiler for that\nand more lines")
        return lambda x: model(x) * (1.01 if options.get("aggressive_fusion") else 1)

    monkeypatch.setattr(torch, "compile", fake_compile)
    sets: list[dict[str, Any]] = [{"aggressive_fusion": True}, {"freezing": True}, {"shape_padding": False}]
    rule = replace(RULE, time_cap_s=0.05)
    rows = compile_options.measure(Converted(snippet, None), sets, rule, subject="tanh", dtype="float32")
    by_name = {row.options: row for row in rows}
    assert by_name["aggressive_fusion=True"].result == "rejected"
    assert "largest error" in by_name["aggressive_fusion=True"].note
    assert by_name["aggressive_fusion=True"].median_ms is None
    assert (by_name["freezing=True"].result, by_name["freezing=True"].note) == (
        "failed",
        "RuntimeError: no compiler for that",
    )
    timed = {name for name, row in by_name.items() if row.result == "timed"}
    assert timed == {"eager", "default", "default, again", "shape_padding=False"}
    assert by_name["shape_padding=False"].outcome in ("FASTER", "SAME", "SLOWER", "AMBIGUOUS")
    used = by_name["shape_padding=False"].limit_used
    assert used is not None
    assert 0 <= used < 1
    text = compile_options.report(rows)
    assert "rejected: is too far from the reference" in text
    assert "The default options differ from themselves by a factor of up to " in text


def test_parameters_and_inputs_are_converted(snippet: contract.Snippet) -> None:
    converted = Converted(snippet, torch.bfloat16)
    model, (x,) = converted.build("Model"), converted.inputs(0)
    assert {p.dtype for p in model.parameters()} == {x.dtype} == {torch.bfloat16}
    assert isinstance(model(x), Tensor)


def test_command_measures_a_real_option(tmp_path: Path) -> None:
    (tmp_path / "tanh.py").write_text(SNIPPET)
    results = tmp_path / "results.csv"
    command = [sys.executable, "-m", "hipward_kernels.measure.compile_options", str(tmp_path / "tanh.py")]
    command += ["--device", "cpu", "--option", "freezing=True", "--option", "pattern_matcher=True"]
    command += ["--time-cap", "0.05", "--results", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=1200)
    assert "Not measured: pattern_matcher=True is the default." in done.stdout
    with results.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["options"] for row in rows] == ["eager", "default", "freezing=True", "default, again"]
    assert all(int(row["kernels"]) == 1 and float(row["compile_s"]) > 0 for row in rows[1:])


def test_published_rows_and_the_lesson_agree() -> None:
    with (ROOT / "results" / "compile_options.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    assert list(published[0]) == COLUMNS
    runs = sorted({row["date"] for row in published})
    measured = {(row["options"], str(runs.index(row["date"]) + 1)): row for row in published}
    with (LESSON / "ablation.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            row = measured[line["options"].replace("defaults, again", "default, again"), line["run"]]
            for mine, theirs in (("ms", "median_ms"), ("95 % low", "speedup_low"), ("95 % high", "speedup_high")):
                assert float(line[mine]) == pytest.approx(float(row[theirs]), abs=6e-4)
            assert line["outcome"] == (row["outcome"] or "control")
