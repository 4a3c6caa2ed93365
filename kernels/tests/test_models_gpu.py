"""Tests of the models that need a GPU, AMD or NVIDIA: kernels in 16 bits, the compiler, graphs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import torch

from hipward_kernels.models import SIZES, VERSIONS, TinyLlama, training
from hipward_kernels.models.data import batches
from hipward_kernels.models.generation import generate
from hipward_kernels.models.graphed import GraphedModel
from hipward_kernels.models.graphs import GraphedDecoding, GraphedStep, GraphRefusedError
from hipward_kernels.models.weights import copy_weights, fused, without_gradient
from hipward_kernels.workshop.measuring import measure, prepare
from hipward_kernels.workshop.options import Subject

if TYPE_CHECKING:
    from hipward_kernels.models.config import Version
    from hipward_kernels.models.data import Batch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

GPU = torch.device("cuda")
TINY = SIZES["tiny"].config


def curve(name: Version, precision: training.Precision, *, graph: bool = False) -> torch.Tensor:
    torch._dynamo.reset()
    weights = training.build(TINY, VERSIONS["v1"], GPU).model.state_dict()
    trainer = training.build(TINY, VERSIONS[name], GPU, precision, weights=weights)
    data = batches(TINY, 16, 32, GPU)
    step = GraphedStep(trainer, [next(data) for _ in range(3)]) if graph else trainer.step
    data = batches(TINY, 16, 32, GPU)
    return torch.stack([step(next(data)).clone() for _ in range(20)]).cpu()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_all_versions_have_the_same_loss_curve(precision: training.Precision) -> None:
    first = curve("v1", precision)
    for name in ("v2", "v3", "v4"):
        tolerance = 1e-3 if precision == "float32" else 1e-2
        torch.testing.assert_close(curve(name, precision), first, rtol=tolerance, atol=0)


def test_captured_step_trains_like_the_plain_step() -> None:
    torch.testing.assert_close(curve("v4", "bfloat16", graph=True), curve("v4", "bfloat16"), rtol=2e-3, atol=0)


def test_step_that_synchronizes_is_not_captured_and_loses_no_state() -> None:
    trainer = training.build(TINY, VERSIONS["v4"].with_(off=["compile"]), GPU)
    batch = next(batches(TINY, 4, 32, GPU))
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    plain = trainer.forward

    def waits(batch: Batch) -> torch.Tensor:
        loss = plain(batch)
        assert loss.item() > 0
        return loss

    trainer.forward = waits  # type: ignore[method-assign]
    with pytest.raises(GraphRefusedError, match="cannot be captured"):
        GraphedStep(trainer, [batch] * 2)
    assert all(torch.equal(value, before[name]) for name, value in trainer.model.state_dict().items())


def test_graph_with_other_results_is_rejected() -> None:
    trainer = training.build(TINY, VERSIONS["v4"].with_(off=["compile"]), GPU)
    data = batches(TINY, 4, 32, GPU)
    some = [next(data) for _ in range(3)]
    plain = trainer.forward
    for period, reason in ((3, "is off by"), (7, "two plain runs")):
        calls = itertools.count()
        # Depends on a number that Python counts: the graph keeps the one that it was captured with. With a period of
        # three, plain runs of three steps agree.
        trainer.forward = lambda batch, calls=calls, period=period: plain(batch) * (1 + next(calls) % period)  # type: ignore[method-assign, misc]
        with pytest.raises(GraphRefusedError, match=reason):
            GraphedStep(trainer, some)


def test_captured_decoding_generates_the_same_text() -> None:
    trained = training.build(TINY, VERSIONS["v1"], GPU)
    training.loss_curve(trained, batches(TINY, 16, 32, GPU), 20)
    switches = VERSIONS["v4"]
    model = TinyLlama(TINY, switches).to(GPU)
    copy_weights(trained.model, model, TINY, switches)
    prompts = [next(batches(TINY, 2, 8, GPU, seed=seed)).tokens for seed in (1, 2)]
    decoding = GraphedDecoding(model, prompts[0], 16)
    for prompt in prompts:
        assert torch.equal(decoding.generate(prompt, 16), generate(trained.model, prompt, 16))
        assert torch.equal(decoding.generate(prompt, 5), generate(trained.model, prompt, 5))
    with pytest.raises(ValueError, match="at most 16 tokens"):
        decoding.generate(prompts[0], 17)
    with pytest.raises(ValueError, match=r"prompts \[2, 8\]"):
        decoding.generate(prompts[0][:1], 16)


def test_model_of_a_user_runs_as_a_graph() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)).to(GPU).eval()
    graphed = GraphedModel(model)
    with torch.no_grad():
        for rows in (4, 4, 7, 4):
            x = torch.randn(rows, 64, device=GPU)
            torch.testing.assert_close(graphed(x), model(x))
        assert graphed.refused == {}
        waits = GraphedModel(ReadsItsInput().to(GPU))
        assert torch.equal(waits(x), x + 1 if bool(x.sum() > 0) else x - 1)
    assert "cannot be captured" in next(iter(waits.refused.values()))


class ReadsItsInput(torch.nn.Module):
    """Waits for a value on the host, which a capture does not support."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if bool(x.sum() > 0) else x - 1


def test_peak_memory_is_measured_per_subject() -> None:
    subject = Subject("v1", VERSIONS["v1"], "tiny", 2, 32, "float32")
    # The first one in a process also includes allocations that libraries make once, such as workspaces.
    _, *measured = [measure(prepare(subject, GPU), GPU, steps=5).peak_memory_mib for _ in range(3)]
    weights_and_moments = 16 * sum(p.numel() for p in TinyLlama(TINY, VERSIONS["v1"]).parameters()) / 2**20
    for peak in measured:
        assert peak is not None
        assert weights_and_moments < peak < 20 * weights_and_moments
    assert measured[0] == pytest.approx(measured[1], rel=0.05)


def test_every_parameter_has_a_gradient_in_16_bits() -> None:
    for name, switches in VERSIONS.items():
        weights = training.build(TINY, VERSIONS["v1"], GPU).model.state_dict()
        trainer = training.build(TINY, switches, GPU, "bfloat16")
        trainer.model.load_state_dict(fused(weights, switches))
        trainer.backward(trainer.forward(next(batches(TINY, 4, 32, GPU))))
        assert without_gradient(trainer.model) == [], name
