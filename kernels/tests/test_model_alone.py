"""Tests of Model's times without ModelNew, on the CPU; `test_gpu_harness.py` has a job's on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from test_harness import snippet

from hipward_kernels.harness import contract
from hipward_kernels.harness.model_alone import HOST_LIMIT, LIMIT, SlowModelError, differs, times_of

if TYPE_CHECKING:
    from pathlib import Path


def test_calls_of_model_are_timed(tmp_path: Path) -> None:
    loaded = contract.load(
        snippet("(time.sleep(0.01), x + self.weight)[1]", top="import time"), tmp_path, torch.device("cpu")
    )
    times = times_of(loaded)
    assert len(times) >= 10
    assert 10 < min(times) < 100


def test_slow_model_is_not_repeated(tmp_path: Path) -> None:
    code = snippet("(calls.append(1), time.sleep(0.2), x + self.weight)[2]", top="import time\ncalls = []")
    loaded = contract.load(code, tmp_path, torch.device("cpu"))
    with pytest.raises(SlowModelError, match=r"a call takes 0\.2 s"):
        times_of(loaded, 0.1)
    assert len(loaded.module.calls) <= 6


@pytest.mark.parametrize(
    ("here", "ratio", "is_different"),
    [
        (1.0, LIMIT.ratio, False),
        (1.2, LIMIT.ratio, False),
        (1.4, LIMIT.ratio, True),
        (1.4, HOST_LIMIT.ratio, False),
        (2.5, HOST_LIMIT.ratio, True),
    ],
)
def test_difference_must_exceed_the_ratio(here: float, ratio: float, is_different: bool) -> None:
    assert differs([here] * 5, [0.9, 1.0, 1.0, 1.0, 1.1], ratio) == is_different
    # Below ten microseconds it is the host's noise, and three samples have no quartiles.
    assert not differs([here * 1e-3] * 5, [1e-3] * 5, ratio)
    assert not differs([here] * 3, [1.0] * 3, ratio)
