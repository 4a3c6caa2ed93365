"""Cost of a step, measured with a simulated clock, because times of a real host vary."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import torch
from test_harness import snippet

from hipward_kernels.harness import job, lines, step_cost
from hipward_kernels.harness.race import Entrant
from hipward_kernels.harness.step_cost import COSTS, ROUNDS, cost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Ring:
    def take(self) -> list[torch.Tensor]:
        return [torch.ones(2)]


class Clock:
    """A call's time is what calling it returns, in the order of turns."""

    def __init__(self) -> None:
        self.turns = 0

    def samples(self, call: Any, arguments: Sequence[Any]) -> tuple[list[float], Any]:
        self.turns += 1
        return [call(*args) for args in arguments], None


def weighed(*with_it: float) -> tuple[tuple[float, float] | None, int]:
    clock, turn = Clock(), iter(range(10**6))
    step = Entrant(lambda _: with_it[min(next(turn) * len(with_it) // (ROUNDS * 6), len(with_it) - 1)], 0.01)
    found = cost(step, Entrant(lambda _: 1.0, 0.01), Ring(), clock)  # type: ignore[arg-type]
    return found, clock.turns


def test_step_costs_time_only_if_every_round_agrees() -> None:
    assert weighed(1.5) == ((1.5, 1.0), 2 * ROUNDS)
    assert weighed(COSTS) == (None, 2)
    assert weighed(0.5) == (None, 2)
    found, turns = weighed(1.5, 1.5, 1.5, 1.5, 1.0)
    assert found is None
    assert turns == 2 * ROUNDS


@pytest.mark.parametrize("costs", [True, False])
def test_later_variants_omit_a_step_that_costs_time(
    costs: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(step_cost, "cost", lambda *_: (3.0, 2.0) if costs else None)
    monkeypatch.setenv("TORCH_COMPILE_MODE", "default")
    code = snippet(
        "self.a(x) + self.b(x)",
        init="self.a = nn.Linear(16, 16); self.b = nn.Linear(16, 16)",
        inputs="[torch.randn(64, 16)]",
    )
    told = tmp_path / "lines"
    out = lines.Lines(os.open(told, os.O_WRONLY | os.O_CREAT))
    job.run(job.Job(code, ["eager", "fused-projections", "everything"], "cpu", 0.1), out, tmp_path)
    said = [json.loads(line) for line in told.read_text().splitlines()]
    timed = {line["variant"] for line in said if line["type"] == "sampled"}
    stands = {line["variant"]: line["based_on"] for line in said if line["type"] == "compile"}
    assert timed == {"eager", "fused-projections", "everything"}
    assert stands["everything"] == (["compile"] if costs else ["compile", "fused-projections"])
    warnings = [line["text"] for line in said if line["type"] == "warning"]
    if costs:
        (warning,) = warnings
        assert warning.startswith("Fused projections costs 50% here: 3 ms with it, 2 ms with Eager alone")
        assert warning.endswith("Later variants do not include it.")
    else:
        assert warnings == []


def test_everything_is_not_torch_compile_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def wrong(function: Any, **_: object) -> Any:
        return lambda *arguments: function(*arguments) * 1.5

    monkeypatch.setattr("torch.compile", wrong)
    told = tmp_path / "lines"
    out = lines.Lines(os.open(told, os.O_WRONLY | os.O_CREAT))
    job.run(job.Job(snippet("x * 2"), ["eager", "compile", "everything"], "cpu", 0.1), out, tmp_path)
    said = [json.loads(line) for line in told.read_text().splitlines()]
    reasons = {line["variant"]: line.get("reason") for line in said if line["type"] in ("precision", "unavailable")}
    assert "is too far from the reference" in reasons["compile"]
    assert reasons["everything"] == "torch.compile includes everything that Model and this host allow."
