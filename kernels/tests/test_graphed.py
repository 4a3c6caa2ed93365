"""A user's model as a graph. Without a GPU, a replay is simulated: it reads and writes the captured tensors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

from hipward_kernels.models import graphed
from hipward_kernels.models.graphed import GraphedModel
from hipward_kernels.models.graphs import GraphRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent


class Replays:
    """A stand-in for `capture`: a replay writes into the result of the captured call."""

    def __init__(self) -> None:
        self.captured = 0
        self.replayed = 0

    def capture(self, work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        self.captured += 1
        result = work()

        def replay() -> None:
            self.replayed += 1
            # `work` also replaces the list of results, as no real replay does, but it is of the same form.
            result.copy_(work())

        return replay, result


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> Replays:
    found = Replays()
    monkeypatch.setattr(graphed, "capture", found.capture)
    return found


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: Tensor, *, scale: float = 1.0) -> dict[str, Any]:
        return {"y": self.linear(x) * scale, "count": x.shape[0]}


@torch.no_grad()
def test_results_are_those_of_the_model_and_are_not_overwritten(replays: Replays) -> None:
    model = Layer()
    call, first, second = GraphedModel(model), torch.randn(3, 8), torch.randn(3, 8)
    mine, other = call(first), call(second)
    torch.testing.assert_close(mine["y"], model(first)["y"])
    torch.testing.assert_close(other["y"], model(second)["y"])
    assert mine["count"] == 3
    assert replays.captured == 1
    # Two for the check.
    assert replays.replayed == 4


@torch.no_grad()
def test_each_form_of_arguments_has_a_graph(replays: Replays) -> None:
    call = GraphedModel(Layer(), most_graphs=2)
    for rows, scale in ((3, 1.0), (3, 2.0), (3, 1.0), (5, 1.0)):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(call(x, scale=scale)["y"], call.model(x, scale=scale)["y"])
    assert replays.captured == 2
    assert list(call.refused.values()) == ["2 other forms of arguments have a graph"]


@torch.no_grad()
def test_moved_weights_and_another_mode_are_captured_again(replays: Replays) -> None:
    model, x = Layer(), torch.randn(3, 8)
    call = GraphedModel(model)
    call(x)
    model.linear.weight.mul_(2.0)
    call(x)
    assert replays.captured == 1
    model.linear.weight = nn.Parameter(torch.randn(4, 8))
    torch.testing.assert_close(call(x)["y"], call.model(x)["y"])
    assert replays.captured == 2
    model.eval()
    call(x)
    assert replays.captured == 3


def test_calls_that_record_gradients_are_not_captured(replays: Replays) -> None:
    model = Layer()
    GraphedModel(model)(torch.randn(3, 8))["y"].sum().backward()
    assert replays.captured == 0
    assert model.linear.weight.grad is not None


class Counting(nn.Module):
    """Depends on a number of Python that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


class Branching(nn.Module):
    """Its branch depends on the order of the values."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if bool(x.flatten()[0] > x.flatten()[1]) else x - 1


@pytest.mark.parametrize(
    ("model", "message"),
    [(Counting(), "two plain calls differ"), (nn.Dropout(), "it is random"), (Branching(), "of the graph is off by")],
)
@torch.no_grad()
def test_model_with_other_results_is_called_plainly(
    model: nn.Module, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def frozen(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        return (lambda: None), work()

    monkeypatch.setattr(graphed, "capture", frozen)
    call = GraphedModel(model)
    assert call(torch.arange(1.0, 65.0)).shape == (64,)
    (reason,) = call.refused.values()
    assert message in reason


@torch.no_grad()
def test_refused_capture_is_reported_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: object) -> None:
        raise GraphRefusedError("the step cannot be captured: it waits for the host")

    monkeypatch.setattr(graphed, "capture", refuse)
    call, x = GraphedModel(Layer()), torch.randn(3, 8)
    for _ in range(2):
        torch.testing.assert_close(call(x)["y"], call.model(x)["y"])
    assert [record.message for record in caplog.records] == [
        "the model runs without a graph for these arguments: the step cannot be captured: it waits for the host"
    ]


@torch.no_grad()
def test_unhashable_arguments_use_the_model(replays: Replays) -> None:
    class Takes(nn.Module):
        def forward(self, x: Tensor, names: set[str]) -> Tensor:
            return x * len(names)

    call = GraphedModel(Takes())
    assert torch.equal(call(torch.ones(2), {"a", "b"}), torch.full((2,), 2.0))
    assert replays.captured == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_command_without_a_gpu_reports_why() -> None:
    command = [sys.executable, "-m", "hipward_kernels.models.graphed", "examples/swiglu_mlp.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not captured: graphs need a GPU" in done.stderr
