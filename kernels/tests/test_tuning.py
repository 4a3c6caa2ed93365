"""The table of tuned choices: reading, merging and overriding it, and its effect on the choice."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import pytest
import torch
from three_tiers import TIERS, twice, who_ran

from hipward_kernels.dispatch import registry, tuning
from hipward_kernels.dispatch.registry import disabled
from hipward_kernels.dispatch.tuning import Choice, TableError, choice, forced, merge, read, write

if TYPE_CHECKING:
    from pathlib import Path

    from hipward_kernels.dispatch.registry import Op

__all__ = ["twice"]


def made(rows: int, tier: str = "hip", parameters: str = "", source: str = "a test", columns: int = 8) -> Choice:
    return Choice("cpu", "twice", "float32", rows, columns, tier, parameters, source)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuned.csv"
    monkeypatch.setenv("HIPWARD_TUNED", str(path))
    tuning._table.cache_clear()
    return path


def test_table_row_applies_from_its_number_of_rows_on(table: Path) -> None:
    write(table, [made(1, "triton"), made(64, "hip", "row_threads=256 rows=2")])
    for rows, tier in ((1, "triton"), (63, "triton"), (64, "hip"), (10**6, "hip")):
        found = choice("cpu", "twice", torch.float32, rows, 8)
        assert found is not None
        assert found.tier == tier
    assert found is not None
    assert found.numbers() == {"row_threads": 256, "rows": 2}
    assert choice("cpu", "twice", torch.float32, 0, 8) is None
    assert choice("cpu", "twice", torch.float32, 64, 16) is None
    assert choice("gfx942", "twice", torch.float32, 64, 8) is None


def test_later_table_overrides_rows_of_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    write(first, [made(1, source="first"), made(64, source="first")])
    write(second, [made(1, source="second")])
    merged = merge([read(first), read(second)])
    assert [(row.rows, row.source) for row in merged] == [(1, "second"), (64, "first")]
    monkeypatch.setenv("HIPWARD_TUNED", f"{first}:{second}")
    found = choice("cpu", "twice", torch.float32, 1, 8)
    assert found is not None
    assert found.source == "second"


HEAD = ",".join(tuning.COLUMNS) + "\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("arch,op\n", "has the columns"),
        (HEAD + "cpu,twice,float32,many,8,hip,,x\n", "line 2: rows is 'many', not a number from 0"),
        (HEAD + "cpu,twice,float32,1,-8,hip,,x\n", "line 2: columns is '-8', not a number from 0"),
        (HEAD + "cpu,twice,float32,1,8,hip,threads,x\n", "line 2: parameters are name=number, not 'threads'"),
        (HEAD + "cpu,twice,float32,1,8,hip,,x\ncpu,twice\n", "line 3: a row has 8 cells"),
        (HEAD + "cpu,twice,float32,1,8,hip,,x,y\n", "line 2: a row has 8 cells"),
        (HEAD.replace("arch", "\udcff"), "cannot be read"),
    ],
)
def test_error_in_the_table_has_its_line(table: Path, text: str, says: str) -> None:
    table.write_text(text, errors="surrogateescape")
    with pytest.raises(TableError, match=says):
        choice("cpu", "twice", torch.float32, 1, 8)
    table.unlink()
    with pytest.raises(TableError, match="cannot be read"):
        choice("cpu", "twice", torch.float32, 2, 8)


def test_table_saved_by_a_spreadsheet_is_read(table: Path) -> None:
    table.write_text(f"\ufeff{HEAD}cpu,twice,float32,1,8,hip,,x\n", newline="\r\n", encoding="utf-8")
    assert read(table) == [made(1, source="x")]


PARAMETERS = {
    "hip": {"row_threads", "rows", "cluster", "preload", "stream", "threads", "vectors", "bytes", "once"},
    "triton": {"block", "warps", "again"},
}


def test_shipped_table_is_valid_and_names_existing_tiers() -> None:
    for row in read(tuning.SHIPPED):
        assert row.tier in registry.TIERS
        assert set(row.numbers()) <= PARAMETERS[row.tier]


def test_each_tier_is_disabled_in_turn(twice: Op) -> None:
    x = torch.ones(4, 8)
    for count, tier in enumerate(TIERS):
        with disabled(*TIERS[:count]):
            assert who_ran(twice, x) == [tier]
    with disabled(*TIERS), pytest.raises(RuntimeError, match="every implementation of twice is disabled"):
        twice(x)


def test_tier_that_does_not_support_the_arguments_passes_them_on(twice: Op) -> None:
    sys.modules["twice_op.hip"].refuse = lambda _: NotImplemented  # type: ignore[attr-defined]
    assert who_ran(twice, torch.ones(4, 8)) == ["hip", "triton"]


def test_table_determines_the_order_and_the_choice_is_logged(
    twice: Op, table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(table, [made(4, "triton", source="an earlier sweep")])
    with caplog.at_level(logging.INFO, logger="hipward_kernels.dispatch.registry"):
        assert who_ran(twice, torch.ones(4, 8)) == ["triton"]
        assert who_ran(twice, torch.ones(3, 8)) == ["hip"]
    assert "twice of 4x8 torch.float32 on cpu: triton → hip → eager (tuned: an earlier sweep)" in caplog.text
    assert "twice of 3x8 torch.float32 on cpu: hip → triton → eager (no tuned choice)" in caplog.text


def test_table_does_not_apply_to_training_steps(twice: Op, table: Path) -> None:
    write(table, [made(1, "triton")])
    x = torch.ones(4, 8, requires_grad=True)
    assert who_ran(twice, x) == ["hip"]
    with torch.no_grad():
        assert who_ran(twice, x) == ["triton"]


def test_unknown_tier_is_reported_and_skipped(twice: Op, table: Path, caplog: pytest.LogCaptureFixture) -> None:
    table.write_text(f"{HEAD}cpu,twice,float32,0,8,hop,,x\n")
    assert torch.equal(twice(torch.ones(1, 8)), torch.full((1, 8), 2.0))
    assert "twice: the tuned table has the unknown tier 'hop'; the tiers are hip, triton, eager" in caplog.text


def test_sweep_forces_each_candidate(twice: Op) -> None:
    x = torch.ones(4, 8)
    assert who_ran(twice, x) == ["hip"]
    with forced(made(1, "eager")):
        assert who_ran(twice, x) == ["eager"]
    assert who_ran(twice, x) == ["hip"]
