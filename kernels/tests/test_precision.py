"""Results that pass the precision gate, and the reasons for rejecting others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hipward_kernels.harness import contract, precision
from hipward_kernels.harness import trials as trials_module
from hipward_kernels.harness.reference import Known, Reference
from hipward_kernels.harness.trials import Trials
from hipward_kernels.harness.variants import Origin
from hipward_kernels.numerics.nested import flatten, size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SNIPPET = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 16)

    def forward(self, x):
        return self.linear(x), {"sign": x > 0}

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return []
"""


@pytest.fixture
def model_and_trials(tmp_path: Path) -> tuple[nn.Module, Trials]:
    snippet = contract.load(SNIPPET, tmp_path, torch.device("cpu"))
    model = snippet.build("Model")
    reference = Reference(model, lambda: snippet.build("Model"), snippet.inputs(0))
    return model, Trials(snippet, model, reference)


def test_original_model_passes(model_and_trials: tuple[nn.Module, Trials]) -> None:
    model, trials = model_and_trials
    result = precision.check(model, trials)
    assert (result.passed, result.reason, result.seeds, result.reference) == (True, None, 5, "float64")
    value, sign = result.outputs
    assert (value.name, value.shape, value.dtype, sign.name, sign.dtype) == ("0", [8, 16], "float32", "1.sign", "bool")
    assert 0 < value.max_abs < 1e-5
    assert value.max_abs == value.eager_max_abs
    assert value.rms < value.max_abs
    assert value.cosine == pytest.approx(1.0)
    assert value.mismatch == sign.mismatch == 0.0


def test_model_is_not_called_again_in_every_trial(model_and_trials: tuple[nn.Module, Trials]) -> None:
    model, trials = model_and_trials
    seen = []

    def counted(*args: Any) -> Any:
        seen.append(args)
        return model(*args)

    assert precision.check(counted, trials, calls=2) == precision.check(model, trials)
    assert len(seen) == 2


@pytest.mark.parametrize(("forward", "is_random", "calls"), [("x + 1", False, 1), ("x + torch.rand(8, 32)", True, 2)])
def test_model_that_draws_numbers_is_called_with_another_seed(
    tmp_path: Path, forward: str, is_random: bool, calls: int
) -> None:
    snippet = contract.load(SNIPPET.replace('self.linear(x), {"sign": x > 0}', forward), tmp_path, torch.device("cpu"))
    model = snippet.build("Model")
    trials = Trials(snippet, model, Reference(model, lambda: snippet.build("Model"), snippet.inputs(0)))
    seen = []
    model.register_forward_pre_hook(lambda *args: seen.append(args))
    next(iter(trials))
    assert (trials.eager_is_random, len(seen)) == (is_random, calls)


def test_slow_trials_without_room_in_the_cache_are_fewer(
    model_and_trials: tuple[nn.Module, Trials], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, trials = model_and_trials
    first = next(iter(trials))
    trials.forget()
    bytes_of_one = size_in_bytes([first.inputs, first.reference, first.eager])
    monkeypatch.setattr(trials, "_most_bytes", 3 * bytes_of_one)
    monkeypatch.setattr(trials_module, "SLOW_FACTOR", 1)
    monkeypatch.setattr(trials_module, "SLOW_SECONDS", 0.0)
    assert precision.check(model, trials).seeds == 4, "the fourth is the first that does not fit"
    assert precision.check(model, trials).seeds == 3
    monkeypatch.setattr(trials, "_most_bytes", 0)
    trials.forget()
    assert precision.check(model, trials).seeds == trials_module.FEWEST_SEEDS


def test_copy_of_the_model_is_compared_in_the_trials_at_hand(
    model_and_trials: tuple[nn.Module, Trials], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, trials = model_and_trials
    assert precision.check(model, trials, trials.at_hand()).seeds == 1
    assert precision.check(model, trials).seeds == 5
    assert precision.check(model, trials, trials.at_hand()).seeds == 5
    monkeypatch.setattr(trials, "_most_bytes", 0)
    trials.forget()
    assert precision.check(model, trials, trials.at_hand()).seeds == 1


class Counted(Reference):
    """A reference that counts its computations, and takes long."""

    calls = 0

    def known(self, inputs: Sequence[Any], seed: int) -> Known:
        self.calls += 1
        return replace(super().known(inputs, seed), seconds=0.6)

    def take_first(self) -> Known | None:
        first = super().take_first()
        return first and replace(first, seconds=0.6)


def keep_references_only(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_most_bytes", 1000.0)
    monkeypatch.setattr(trials, "_seed_seconds", 10.0)
    monkeypatch.setattr(trials_module, "SLOW_FACTOR", 100)


def test_of_large_trials_slow_references_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippet = contract.load(SNIPPET, tmp_path, torch.device("cpu"))
    model = snippet.build("Model")
    reference = Counted(model, lambda: snippet.build("Model"), snippet.inputs(7), seed=7)
    trials = Trials(snippet, model, reference)
    keep_references_only(trials, monkeypatch)
    assert precision.check(model, trials).passed
    assert trials.seeds[0] == 7
    assert reference.calls == 4, "the first was computed to find the precision"
    assert precision.check(model, trials).passed
    assert reference.calls == 4
    trials.forget()
    assert precision.check(model, trials).seeds == 5
    assert reference.calls == 9


def test_kept_reference_of_other_inputs_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = SNIPPET.replace("import torch\n", "import itertools\nimport torch\n\ncalls = itertools.count()\n", 1)
    code = code.replace("torch.randn(8, 32)", "torch.randn(8, 32) + next(calls)")
    snippet = contract.load(code, tmp_path, torch.device("cpu"))
    model = snippet.build("Model")
    reference = Counted(model, lambda: snippet.build("Model"), snippet.inputs(7), seed=7)
    trials = Trials(snippet, model, reference)
    keep_references_only(trials, monkeypatch)
    for _ in range(2):
        assert precision.check(model, trials).passed
    assert reference.calls == 10


def test_copy_shares_parameters_and_no_buffers(tmp_path: Path) -> None:
    code = SNIPPET.replace("self.linear = ", "self.norm = nn.BatchNorm1d(32); self.linear = ")
    origin_of = contract.load(code, tmp_path, torch.device("cpu"))
    model = origin_of.build("Model")
    model.get_submodule("linear").register_parameter("tied", model.get_parameter("norm.weight"))
    copied = Origin(origin_of, model, origin_of.inputs(0)).copy()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        mine = copied.get_parameter(name)
        assert mine is not parameter
        assert mine.data_ptr() == parameter.data_ptr()
    assert copied.get_parameter("linear.tied") is copied.get_parameter("norm.weight")
    copied.double().get_buffer("norm.running_mean").fill_(3.0)
    assert model.get_parameter("norm.weight").dtype == torch.float32
    assert not model.get_buffer("norm.running_mean").any()


def changed(change: Callable[[Tensor, Tensor, Tensor], Any]) -> Callable[[nn.Module], Callable[[Tensor], Any]]:
    """A variant that applies `change` to the inputs and outputs of the model."""

    def variant(model: nn.Module) -> Callable[[Tensor], Any]:
        def call(x: Tensor) -> Any:
            value, rest = model(x)
            return change(x, value, rest["sign"])

        return call

    return variant


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda _, y, s: (y[:, :8], {"sign": s}), "returned output 0 with shape [8, 8]; Model returns shape [8, 16]"),
        (lambda _, y, s: (y.bfloat16(), {"sign": s}), "returned output 0 with dtype torch.bfloat16"),
        (lambda _, y, s: (y, s), "returned the outputs 0, 1; Model returns 0, 1.sign"),
        (lambda _, y, s: (y / 0 * 0, {"sign": s}), "returned NaN or infinity in output 0"),
        (lambda _, y, s: (y * 0, {"sign": s}), "returned all zeros as output 0"),
        (lambda _, y, s: (y * 1.01, {"sign": s}), "is too far from the reference: the "),
        (lambda x, y, s: (y, {"sign": s ^ (x > 1)}), "of output 1.sign differ"),
        (lambda _x, y, _s: (y, {"sign": None}), "returned a NoneType as output 1.sign, not a tensor"),
        (lambda x, y, s: (y, {"sign": s}, x.zero_())[:2], "changed its inputs, which Model leaves as they are"),
    ],
)
def test_rejection_has_a_reason(
    model_and_trials: tuple[nn.Module, Trials],
    change: Callable[[Tensor, Tensor, Tensor], Any],
    says: str,
) -> None:
    model, trials = model_and_trials
    result = precision.check(changed(change)(model), trials)
    assert not result.passed
    assert result.reason is not None
    assert says in result.reason


def test_rounding_of_another_summation_order_passes(model_and_trials: tuple[nn.Module, Trials]) -> None:
    model, trials = model_and_trials
    weight, bias = model.get_parameter("linear.weight"), model.get_parameter("linear.bias")
    variant = changed(lambda x, _, s: (F.linear(x.flip(-1), weight.flip(-1)) + bias, {"sign": s}))(model)
    assert precision.check(variant, trials).passed


def test_zeros_pass_if_the_model_returns_zeros(tmp_path: Path) -> None:
    code = SNIPPET.replace("return self.linear(x), ", "return x * 0, ")
    snippet = contract.load(code, tmp_path, torch.device("cpu"))
    model = snippet.build("Model")
    trials = Trials(snippet, model, Reference(model, lambda: model, snippet.inputs(0)))
    assert precision.check(model, trials).passed


class CastsToFloat32(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.float().pow(2).mean(-1).to(torch.float32).to(x.dtype)


class OnlyBfloat16(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dtype != torch.bfloat16:
            raise TypeError("bfloat16 only")
        return x


def test_reference_stays_in_float64_despite_casts() -> None:
    x = torch.randn(4, 1000)
    reference = Reference(CastsToFloat32(), CastsToFloat32, [x])
    assert reference.dtype == "float64"
    assert torch.equal(reference([x], 0)["0"], x.double().pow(2).mean(-1))


def test_model_with_a_fixed_dtype_is_its_own_reference() -> None:
    x = torch.randn(4).bfloat16()
    reference = Reference(OnlyBfloat16(), OnlyBfloat16, [x])
    assert reference.dtype == "eager"
    assert torch.equal(reference([x], 0)["0"], x)


def test_outputs_are_named_by_their_position() -> None:
    x = torch.ones(1)
    assert list(flatten(x)) == ["0"]
    assert list(flatten((x, {"hidden": [x, x]}, None))) == ["0", "1.hidden.0", "1.hidden.1", "2"]

    @dataclass
    class Output:
        logits: Tensor
        states: list[Tensor]

    assert list(flatten(Output(x, [x, x]))) == ["logits", "states.0", "states.1"]
