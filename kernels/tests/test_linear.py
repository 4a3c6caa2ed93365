"""Matrix products: routes, thresholds fitted to measurements, preshuffled weights, and FP8."""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

import hipward_kernels.linear as router
from hipward_kernels.dispatch.registry import disabled
from hipward_kernels.dispatch.switches import switched
from hipward_kernels.linear import aiter as amd
from hipward_kernels.linear import linear, preshuffle, preshuffled, refusals, wanted
from hipward_kernels.linear import route_table as thresholds
from hipward_kernels.linear.preshuffle import Shuffled, StaleError
from hipward_kernels.linear.preshuffled import PreshuffledLinear
from hipward_kernels.linear.route_table import TABLE, Split, fit, read, write
from hipward_kernels.quantization import FP8Linear, quantize
from hipward_kernels.rewrite.steps import GEMM, Switches, optimize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class FakeAiter:
    """Replaces aiter's tuned GEMM, and multiplies shuffled weights like its assembly kernels."""

    def __init__(self) -> None:
        self.shuffled: list[bool] = []

    def __call__(
        self, A: Tensor, B: Tensor, bias: Tensor | None = None, otype: Any = None, bpreshuffle: bool = False
    ) -> Tensor:
        self.shuffled.append(bpreshuffle)
        assert A.dim() == 2
        assert bpreshuffle == getattr(B, "is_shuffled", False)
        weight = Shuffled(B).plain() if bpreshuffle else B
        return F.linear(A, weight, bias).to(otype)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAiter]:
    gemm = FakeAiter()
    package, module = ModuleType("aiter"), ModuleType("aiter.tuned_gemm")
    package.__spec__ = type("Spec", (), {"name": "aiter"})()
    module.gemm_a16w16 = gemm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiter", package)
    monkeypatch.setitem(sys.modules, "aiter.tuned_gemm", module)
    forget()
    yield gemm
    forget()


def forget() -> None:
    """What was found installed, and chosen by it."""
    amd.find.cache_clear()
    amd.shuffled_refusal.cache_clear()
    router._cache.clear()
    preshuffled._cache.clear()


def test_choice_is_cached_per_form_and_renewed_when_a_dependency_changes(
    monkeypatch: pytest.MonkeyPatch, fake: FakeAiter
) -> None:
    made: list[str] = []
    choose = router.choose

    def counted(*arguments: Any) -> str:
        made.append(choose(*arguments))
        return made[-1]

    monkeypatch.setattr(router, "choose", counted)
    x, weight = torch.randn(2, 3, 8).bfloat16(), torch.randn(5, 8).bfloat16()
    for _ in range(3):
        linear(x, weight)
    assert made == ["plain"]
    monkeypatch.setenv("USE_AITER_GEMM", "1")
    linear(x, weight)
    with disabled("aiter"):
        linear(x, weight)
    weight.requires_grad_()
    linear(x, weight)
    with torch.no_grad():
        linear(x, weight)
    with switched(GEMM_M_THRESHOLD="5"):
        linear(x, weight.detach())
    assert made == ["plain", "aiter", "plain", "plain", "plain"]
    assert len(fake.shuffled) == 2


def test_cpu_uses_the_plain_route_and_reports_why() -> None:
    x, weight, bias = torch.randn(2, 3, 8), torch.randn(5, 8), torch.randn(5)
    torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias))
    assert refusals(x, weight) == {
        "preshuffled": "USE_AITER_GEMM is not 1",
        "aiter": "USE_AITER_GEMM is not 1",
        "lt": f"{'hipblaslt' if torch.version.hip else 'cublaslt'} needs a GPU; this tensor is on the CPU",
        "plain": None,
    }


def test_aiter_runs_only_where_supported(fake: FakeAiter) -> None:
    x, weight = torch.randn(2, 3, 8).bfloat16(), torch.randn(5, 8).bfloat16()
    with switched(USE_AITER_GEMM="1"):
        torch.testing.assert_close(linear(x, weight), F.linear(x, weight))
        assert fake.shuffled == [False]
        assert "16-bit" in str(refusals(x.float(), weight.float())["aiter"])
        assert "no backward" in str(refusals(x.requires_grad_(), weight)["aiter"])
        with disabled("aiter"):
            linear(x, weight)
    assert len(fake.shuffled) == 1


class WheelsAiter:
    """Behaves like the GEMM of aiter's wheel 0.1.7: no shuffled weights, and an error for shapes without a row."""

    def __init__(self, tuned: set[tuple[int, int, int]]) -> None:
        self.tuned = tuned

    def __call__(
        self,
        A: Tensor,
        B: Tensor,
        bias: Tensor | None = None,
        otype: Any = None,
        scale_a: Tensor | None = None,
    ) -> Tensor:
        assert (otype, scale_a) == (A.dtype, None)
        config = {"libtype": "hipblaslt"} if (A.shape[0], *B.shape) in self.tuned else {}
        assert config["libtype"] == "hipblaslt"
        return F.linear(A, B, bias)


@pytest.mark.usefixtures("fake")
def test_aiter_that_ignores_shuffled_weights_is_not_passed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["aiter.tuned_gemm"], "gemm_a16w16", WheelsAiter({(64, 32, 64)}))
    forget()
    x, weight = torch.randn(64, 64).bfloat16(), torch.randn(32, 64).bfloat16()
    with torch.no_grad(), switched(USE_AITER_GEMM="1", PRESHUFFLE_M_THRESH="1"):
        assert "multiplies a shuffled weight as a plain one" in str(refusals(x, weight)["preshuffled"])
        assert refusals(x, weight)["aiter"] is None
        torch.testing.assert_close(linear(x, weight), F.linear(x, weight))


@pytest.mark.usefixtures("fake")
def test_shape_that_aiter_fails_for_uses_pytorch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys.modules["aiter.tuned_gemm"], "gemm_a16w16", WheelsAiter(set()))
    forget()
    amd._warn_untuned.cache_clear()
    x, weight, bias = torch.randn(3, 5, 64).bfloat16(), torch.randn(32, 64).bfloat16(), torch.randn(32).bfloat16()
    with torch.no_grad(), switched(USE_AITER_GEMM="1"):
        for _ in range(2):
            torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias))
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "aiter has no tuned product for [15, 64] by [32, 64] and fails without one"
    ]


@pytest.mark.usefixtures("fake")
def test_parameters_of_a_registered_op_are_read_from_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    make: Any = torch.library.Library
    library = make("aiter", "FRAGMENT")
    library.define("gemm_a16w16(Tensor A, Tensor B, Tensor? bias=None, ScalarType? otype=None) -> Tensor")
    try:
        monkeypatch.setattr(sys.modules["aiter.tuned_gemm"], "gemm_a16w16", lambda *_, **__: None)
        forget()
        function, names, reason = amd.find()
        assert function is not None
        assert names == {"A", "B", "bias", "otype"}
        assert reason is None
    finally:
        library._destroy()
        forget()


def test_threshold_is_fitted_in_both_directions() -> None:
    for few, many in (("a", "b"), ("b", "a")):
        times = {m: {few: 1.0, many: 2.0} if m <= 64 else {few: 3.0, many: 2.0} for m in (1, 16, 64, 128, 1024)}
        assert fit(times) == (64, few, many, 0.0)
    assert fit({m: {"a": 1.0, "b": 1.5} for m in (1, 2, 4)}) == (None, "a", "a", 0.0)
    noise = {m: {"lt": 1.0 + 0.003 * (m % 2), "plain": 1.002} for m in range(9)}
    assert fit(noise)[:3] == (None, "plain", "plain"), "no route is worth a difference that is noise"
    noisy = {1: {"a": 1.0, "b": 2.0}, 2: {"a": 1.1, "b": 1.0}, 4: {"a": 1.0, "b": 2.0}, 8: {"a": 4.0, "b": 1.0}}
    rows, few, many, regret = fit(noisy)
    assert (rows, few, many) == (4, "a", "b")
    assert regret == pytest.approx(0.1)
    with pytest.raises(ValueError, match="at least one measurement"):
        fit({})


def test_thresholds_apply_and_the_environment_overrides_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "thresholds.csv"
    rows = [Split("cpu", "float32", 5, 8, 64, "lt", "plain", 0.0, "an older test"),
            Split("cpu", "float32", 5, 8, 32, "aiter", "lt", 0.01, "a test")]  # fmt: skip
    write(table, rows)
    assert read(table) == rows[1:]
    monkeypatch.setattr(thresholds, "TABLE", table)
    thresholds._table.cache_clear()
    weight = torch.randn(5, 8)
    try:
        assert wanted(32, weight) == ("aiter",)
        assert wanted(33, weight) == ("lt",)
        assert wanted(33, torch.randn(6, 8)) == ("aiter",)
        with switched(GEMM_M_THRESHOLD="100"):
            assert wanted(100, weight) == ("aiter", "lt")
            assert wanted(101, weight) == ()
        with switched(GEMM_M_THRESHOLD="many"), pytest.raises(ValueError, match="it must be an integer"):
            wanted(1, weight)
    finally:
        thresholds._table.cache_clear()
    assert read(TABLE) == sorted(read(TABLE), key=lambda row: (row.arch, row.dtype, row.n, row.k))


@pytest.mark.parametrize("kind", ["fake", "symbolic", "real"])
def test_router_works_under_make_fx(kind: Any) -> None:
    x, weight = torch.randn(3, 8), torch.randn(4, 8)
    graph = make_fx(partial(linear, bias=None), tracing_mode=kind)(x, weight)
    torch.testing.assert_close(graph(x, weight), F.linear(x, weight))


def test_shuffling_interleaves_16_bytes_of_16_rows() -> None:
    weight = torch.arange(32 * 64).view(32, 64).to(torch.int16).view(torch.bfloat16)
    flat = Shuffled.of(weight).data.view(torch.int16).flatten()
    plain = weight.view(torch.int16)
    # Chunk c of row r of tile (i, j), as the kernels find it.
    for i, j, c, r in ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 3, 15), (0, 1, 2, 7)):
        start = (((i * 2 + j) * 4 + c) * 16 + r) * 8
        expected = plain[16 * i + r, 32 * j + 8 * c : 32 * j + 8 * c + 8]
        assert torch.equal(flat[start : start + 8], expected)
    assert torch.equal(Shuffled.of(weight).plain().view(torch.int16), plain)
    with pytest.raises(ValueError, match="multiples of 16 and 32 are needed"):
        Shuffled.of(weight[:, :48])


def test_shuffling_preserves_all_bits_of_every_layout() -> None:
    # Every pattern of 16 bits, NaN among them, in a view that begins between vectors and in a transpose.
    bits = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(256, 256)
    shuffled = Shuffled.of(bits.clone()).data
    moved = torch.cat([bits.new_zeros(1), bits.flatten()])[1:].view(256, 256)
    for weight in (moved, bits.t().contiguous().t()):
        assert torch.equal(Shuffled.of(weight).data, shuffled)
    assert torch.equal(Shuffled.of(moved).plain(), bits)
    assert Shuffled.of(bits[:0]).plain().shape == (0, 256)


def in_inference_mode(call: Callable[..., Any], *arguments: Any) -> None:
    with torch.inference_mode():
        call(*arguments)


def step(optimizer: torch.optim.Optimizer) -> None:
    """One step, whose gradients are ones."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.requires_grad_()
            parameter.grad = torch.ones_like(parameter)
    optimizer.step()


def test_shuffled_weight_follows_changes_that_pytorch_tracks(fake: FakeAiter) -> None:
    layer = nn.Linear(64, 32).bfloat16().requires_grad_(False)
    shuffling = PreshuffledLinear(layer, rows=4)
    x = torch.randn(8, 64).bfloat16()
    with switched(USE_AITER_GEMM="1"):
        for change in (
            lambda: None,
            lambda: layer.weight.mul_(2),
            lambda: in_inference_mode(layer.weight.mul_, 2),
            lambda: layer.weight.detach().add_(1),
            lambda: step(torch.optim.SGD([layer.weight], lr=0.5)),
            lambda: step(torch.optim.AdamW([layer.weight], lr=0.5, foreach=True)),
            lambda: step(torch.optim.AdamW([layer.weight], lr=0.5, fused=True)),
            lambda: shuffling.load_state_dict({"weight": torch.randn(32, 64), "bias": torch.randn(32)}),
            lambda: shuffling.half().bfloat16(),
        ):
            change()
            layer.requires_grad_(False)
            torch.testing.assert_close(shuffling(x), F.linear(x, shuffling.weight, shuffling.bias))
            assert fake.shuffled.pop() is True
        torch.testing.assert_close(shuffling(x[:3]), F.linear(x[:3], shuffling.weight, shuffling.bias))
        assert fake.shuffled == [], "too few rows"
        with switched(PRESHUFFLE_M_THRESH="2"):
            shuffling(x[:3])
        assert fake.shuffled == [True]
    assert set(shuffling.state_dict()) == {"weight", "bias"}
    with pytest.raises(TypeError):
        F.linear(x, shuffling.shuffled())  # type: ignore[arg-type]


def test_weight_written_through_data_needs_refresh(fake: FakeAiter) -> None:
    layer = nn.Linear(64, 32).bfloat16().requires_grad_(False)
    shuffling = PreshuffledLinear(layer, rows=4)
    x = torch.randn(8, 64).bfloat16()
    with switched(USE_AITER_GEMM="1"):
        for refresh in (shuffling.refresh, partial(preshuffle.refresh, layer.weight), preshuffle.refresh):
            torch.testing.assert_close(shuffling(x), F.linear(x, layer.weight, layer.bias))
            layer.weight.data.copy_(torch.randn(32, 64))
            with switched(HIPWARD_CHECK_SHUFFLED="1"), pytest.raises(StaleError, match=r"call .*preshuffle\.refresh"):
                shuffling(x)
            refresh()
            with switched(HIPWARD_CHECK_SHUFFLED="1"):
                torch.testing.assert_close(shuffling(x), F.linear(x, layer.weight, layer.bias))
    assert fake.shuffled


def test_product_soon_after_a_write_through_data_is_an_error(fake: FakeAiter) -> None:
    shuffling = PreshuffledLinear(nn.Linear(64, 32).bfloat16().requires_grad_(False), rows=4)
    x = torch.randn(8, 64).bfloat16()
    with switched(USE_AITER_GEMM="1"):
        # The weights of a server, loaded after a first product.
        shuffling(x)
        shuffling.weight.data.copy_(torch.randn(32, 64))
        with pytest.raises(StaleError, match=r"call .*preshuffle\.refresh"):
            shuffling(x)
        shuffling.refresh()
        shuffling(x)
        shuffling(x)
        # Two rows that are exchanged.
        shuffling.weight.data[:2] = shuffling.weight[:2].flip(0)
        with pytest.raises(StaleError):
            deque((shuffling(x) for _ in range(preshuffle.LOOKS)), maxlen=0)
    assert fake.shuffled


def test_weight_of_inference_mode_is_not_cached(fake: FakeAiter) -> None:
    counted = PreshuffledLinear(nn.Linear(64, 32).bfloat16(), rows=4)
    with torch.inference_mode():
        layer = nn.Linear(64, 32).bfloat16()
        shuffling = PreshuffledLinear(layer, rows=4)
        x = torch.randn(8, 64).bfloat16()
        with switched(USE_AITER_GEMM="1"):
            counted(x)
            assert fake.shuffled.pop() is True, "a weight of the same form that was made outside"
            for _ in range(2):
                torch.testing.assert_close(shuffling(x), F.linear(x, layer.weight, layer.bias))
                assert torch.equal(shuffling.shuffled().plain(), layer.weight)
                layer.weight.mul_(2)
    assert fake.shuffled == [], "PyTorch's own product ran"
    assert preshuffle.refusal(x, layer.weight, None) == (
        "the weight was created in inference mode and has no version counter"
    )


@torch.no_grad()
def test_gemm_variant_uses_shuffled_weights_above_a_threshold(fake: FakeAiter) -> None:
    first = nn.Linear(64, 32)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(32, 10)).bfloat16()
    inputs = [torch.randn(8, 64).bfloat16()]
    want = Switches((GEMM,))
    with switched(PRESHUFFLE_M_THRESH="8"):
        done = optimize(model, inputs, want)
        assert done.found["gemm-routing"].changed == [
            "preshuffled for bfloat16 [32, 64] of 0",
            "aiter for bfloat16 [10, 32] of 2",
        ]
        for change in (
            lambda: None,
            lambda: first.weight.mul_(-1),
            lambda: first.weight.set_(torch.randn(32, 64).bfloat16()),  # type: ignore[call-overload] # a tensor is taken, too
        ):
            change()
            fake.shuffled.clear()
            x = torch.randn(8, 64).bfloat16()
            torch.testing.assert_close(done.call(x), model(x))
            assert fake.shuffled == [True, False]
        few = optimize(model, [inputs[0][:7]], want)
        assert all(changed.startswith("aiter") for changed in few.found["gemm-routing"].changed)
        torch.compiler.reset()
        with disabled("aiter"):
            without = optimize(model, [inputs[0][:7]], want)
    assert without.reason(GEMM) == (
        "Nothing for it to do in Model: aiter is disabled, 7 rows are fewer than PRESHUFFLE_M_THRESH, 8, "
        "and no sweep has shown another route to be faster for its weights."
    )


@pytest.mark.parametrize(("dtype", "largest"), [(torch.float8_e4m3fn, 448.0), (torch.float8_e4m3fnuz, 240.0)])
def test_fp8_values_use_the_whole_range_of_their_format(dtype: torch.dtype, largest: float) -> None:
    x = torch.cat([torch.randn(6, 64) * 1e4, torch.zeros(1, 64), torch.full((1, 64), 1e-20)])
    quantized = quantize(x, dtype)
    assert quantized.values.float().isfinite().all()
    assert torch.equal(quantized.values.float().abs().amax(-1)[:6], torch.full((6,), largest))
    # Three bits of mantissa: half a step is a sixteenth.
    torch.testing.assert_close(quantized.dequantized(torch.float32)[:6], x[:6], rtol=1 / 16, atol=2e2)
    assert quantized.dequantized(torch.float32)[6:].abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e4m3fnuz])
def test_fp8_layer_reports_its_error(dtype: torch.dtype) -> None:
    layer = nn.Linear(256, 64).bfloat16()
    x = torch.randn(4, 5, 256).bfloat16()
    quantized = FP8Linear(layer, dtype)
    assert quantized(x).shape == (4, 5, 64)
    apart, relative = quantized.error(x, layer)
    assert apart.cosine > 0.99
    assert 0.005 < relative < 0.06
    with pytest.raises(ValueError, match="cpu has no 8-bit matrix units"):
        FP8Linear(layer)
    with pytest.raises(RuntimeError, match="no backward"):
        quantized(x.requires_grad_())
    with pytest.raises(TypeError, match="float8_e4m3fn or float8_e4m3fnuz is needed"):
        quantize(torch.ones(1, 1), torch.bfloat16)
