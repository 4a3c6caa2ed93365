"""What a job line must hold. The snippet's own mistakes are in `test_harness.py`."""

from __future__ import annotations

import json

import pytest

from hipward_kernels.harness.job import Job
from hipward_kernels.harness.variants import VARIANTS, parse_variants

JOB = {"code": "x = 1", "variants": ["model-new", "eager", "compile"], "device": "cpu", "time_cap_s": 15}


def test_variants_come_in_ladder_order_with_eager_first() -> None:
    assert Job.from_json(json.dumps(JOB)) == Job("x = 1", ["eager", "compile", "model-new"], "cpu", 15.0)
    assert parse_variants([]) == ["eager"]
    assert tuple(parse_variants(VARIANTS)) == VARIANTS


@pytest.mark.parametrize(
    "change",
    [
        {"variants": ["fast"]},
        {"variants": None},
        {"code": 1},
        {"device": None},
        {"time_cap_s": 0},
        {"time_cap_s": "nan"},
        {"time_cap_s": None},
    ],
)
def test_a_wrong_field_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Job.from_json(json.dumps({**JOB, **change}))


@pytest.mark.parametrize("line", ["", "nonsense", "[1]", "{}", '{"code": ""}'])
def test_another_line_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Job.from_json(line)
