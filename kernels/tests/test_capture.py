"""The effect of the ladder on typical models: attention, joined projections, routed products."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from hipward_kernels import attention, linear
from hipward_kernels.dispatch import switches
from hipward_kernels.rewrite import attention as attention_pass
from hipward_kernels.rewrite.steps import ATTENTION, GEMM, PROJECTIONS, Optimized, Step, Switches, optimize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hipward_kernels.rewrite.capture import Found

WIDTH, HEADS, LENGTH = 32, 4, 12


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Llama(nn.Module):
    """Grouped queries, rotary positions, a causal mask that is added, softmax in float32."""

    def __init__(self, kv_heads: int = 2) -> None:
        super().__init__()
        self.head_dim, self.groups = WIDTH // HEADS, HEADS // kv_heads
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(WIDTH, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, positions: tuple[Tensor, Tensor], mask: Tensor | None = None) -> tuple[Tensor, None]:
        shape = (*x.shape[:-1], -1, self.head_dim)
        q, k, v = (p(x).view(shape).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q, *positions), rotate(k, *positions)
        k, v = (t[:, :, None].expand(-1, -1, self.groups, -1, -1).flatten(1, 2) for t in (k, v))
        weights = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5
        if mask is not None:
            weights = weights + mask[:, :, :, : k.shape[-2]]
        weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
        weights = F.dropout(weights, p=0.1, training=self.training)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.o_proj(out.reshape(*x.shape[:-1], -1).contiguous()), None


class LlamaModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Llama(), Llama()])

    def forward(self, x: Tensor) -> Tensor:
        angles = torch.outer(torch.arange(x.shape[1], device=x.device), 1e4 ** -(torch.arange(4, device=x.device) / 4))
        table = torch.cat((angles, angles), -1).to(x.dtype)
        lowest = torch.finfo(x.dtype).min
        mask = torch.full((x.shape[1], x.shape[1]), lowest, dtype=x.dtype, device=x.device).triu(1)[None, None]
        for layer in self.layers:
            x = x + layer(x, (table.cos(), table.sin()), mask)[0]
        return x


class GPT2(nn.Module):
    """One layer for query, key and value; a buffer for the mask; numbers as tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("bias", torch.tril(torch.ones(64, 64, dtype=torch.bool)).view(1, 1, 64, 64))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.size()
        q, k, v = (t.view(batch, length, HEADS, -1).permute(0, 2, 1, 3) for t in self.c_attn(x).split(WIDTH, dim=2))
        weights = torch.matmul(q, k.transpose(-1, -2))
        weights = weights / torch.full([], v.size(-1) ** 0.5, dtype=weights.dtype, device=weights.device)
        lowest = torch.full([], torch.finfo(weights.dtype).min, dtype=weights.dtype, device=weights.device)
        seen = self.bias[:, :, :length, :length]  # type: ignore[index]
        weights = self.dropout(F.softmax(torch.where(seen, weights, lowest), dim=-1))
        return self.c_proj((weights @ v).transpose(1, 2).contiguous().view(batch, length, WIDTH))  # type: ignore[no-any-return]


class BERT(nn.Module):
    """Separate projections with bias, and a mask of the caller's."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.softmax = nn.Softmax(dim=-1)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], HEADS, -1).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.heads(p(x)) for p in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS)
        scores = scores + (1.0 - mask[:, None, None, :]) * -10000.0
        out: Tensor = torch.matmul(self.softmax(scores), v).permute(0, 2, 1, 3).flatten(2)
        return out


class Filled(BERT):
    """The caller's mask is filled in, not added."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.heads(p(x)) for p in (self.query, self.key, self.value))
        scores = (q * (WIDTH // HEADS) ** -0.5) @ k.mT
        scores = scores.masked_fill(mask[:, None, None, :] == 0, -torch.inf)
        out: Tensor = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2)
        return out


class Flat(nn.Module):
    """Batched matrix products of one head."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.bmm(torch.softmax(0.5 * torch.bmm(q, k.transpose(1, 2)), dim=2), v)


class Watched(nn.Module):
    """Returns its weights, too."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = (q @ k.mT).softmax(-1)
        return weights @ v, weights


class Columns(nn.Module):
    """Softmax over the queries, as slot attention has it."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT).softmax(-2) @ v


class Signed(nn.Module):
    """A learned scale may be anything."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(-2.0))

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ((q @ k.mT) * self.scale).softmax(-1) @ v


class Capped(nn.Module):
    """Scores through a function that no fused kernel has."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (30 * torch.tanh((q @ k.mT) / 30)).softmax(-1) @ v


class Shifted(nn.Module):
    """Writes into the queries after the scores are made."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q = q * 1.0
        scores = q @ k.mT
        q.add_(1.0)
        return scores.softmax(-1) @ v + q


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).flatten(1))  # type: ignore[no-any-return]


def hidden_states() -> Tensor:
    return torch.randn(2, LENGTH, WIDTH)


def padded() -> list[Tensor]:
    mask = torch.ones(2, LENGTH)
    mask[1, 7:] = 0
    return [hidden_states(), mask]


def three() -> list[Tensor]:
    return [torch.randn(3, LENGTH, 8) for _ in range(3)]


def taken(model: nn.Module, inputs: list[Tensor], *steps: Step) -> Optimized:
    """The model with the steps taken, checked to give what it gave, with its state dict."""
    plain = copy.deepcopy(model)
    done = optimize(model, inputs, Switches(steps))
    expected, got = plain(*inputs), done.call(*inputs)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    before, after = plain.state_dict(), done.model.state_dict()
    assert after.keys() == before.keys()
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, rtol=0, atol=0)
    return done


@pytest.mark.parametrize(
    ("model", "inputs", "module", "mask"),
    [
        (LlamaModel(), lambda: [hidden_states()], "layers.0", "causal"),
        (GPT2(), lambda: [hidden_states()], "the model", "causal"),
        (BERT(), padded, "the model", "given"),
        (Filled(), padded, "the model", "given"),
        (Flat(), three, "the model", "none"),
    ],
)
def test_explicit_attention_is_routed(
    model: nn.Module, inputs: Callable[[], list[Tensor]], module: str, mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []
    router = attention.attention

    def note(*args: Tensor, **keywords: Any) -> Tensor:
        calls.append(keywords)
        return router(*args, **keywords)

    monkeypatch.setattr(attention_pass, "attention", note)
    done = taken(model.eval(), inputs(), ATTENTION)
    assert done.found["attention-routing"].changed[0] == f"softmax(q·kᵀ)·v of {module}"
    masks = {"causal" if call["causal"] else "none" if call["mask"] is None else "given" for call in calls}
    assert masks == {mask}


@pytest.mark.parametrize("model", [Watched(), Columns(), Signed(), Capped(), Shifted()])
def test_other_attention_is_not_replaced(model: nn.Module) -> None:
    done = taken(model, three(), ATTENTION)
    assert done.call is model
    assert done.reason(ATTENTION) == ATTENTION.nothing


def test_attention_with_dropout_is_not_replaced_in_training() -> None:
    model = GPT2().train()
    assert optimize(model, [hidden_states()], Switches((ATTENTION,))).reason(ATTENTION) == ATTENTION.nothing


class Pooled(nn.Module):
    """PyTorch's module, whose weights are either returned or unused."""

    def __init__(self, *, weights: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.weights = weights

    def forward(self, x: Tensor) -> Tensor:
        out, weights = self.attention(x, x, x)
        return out + weights.mean() if self.weights else out  # type: ignore[no-any-return]


def test_unused_attention_weights_are_not_computed() -> None:
    done = taken(Pooled(weights=False).eval(), [hidden_states()], ATTENTION)
    assert done.includes() == ["Attention routing: nn.MultiheadAttention of attention"]
    done = taken(Pooled(weights=True).eval(), [hidden_states()], ATTENTION)
    assert "nn.MultiheadAttention returns its weights" in str(done.reason(ATTENTION))


def test_mask_of_the_caller_may_change() -> None:
    model = BERT().eval()
    x, mask = padded()
    done = optimize(model, [x, mask], Switches((ATTENTION,)))
    for other in (torch.ones_like(mask), mask.flip(1)):
        torch.testing.assert_close(done.call(x, other), model(x, other))


def test_other_shapes_are_captured_again() -> None:
    model = LlamaModel().eval()
    done = optimize(model, [hidden_states()], Switches((ATTENTION, PROJECTIONS)))
    for length in (5, 1, 20):
        x = torch.randn(3, length, WIDTH)
        torch.testing.assert_close(done.call(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "inputs", "joined"),
    [
        (
            LlamaModel(),
            lambda: [hidden_states()],
            [
                "layers.0.q_proj + layers.0.k_proj + layers.0.v_proj",
                "layers.1.q_proj + layers.1.k_proj + layers.1.v_proj",
            ],
        ),
        (BERT(), padded, ["query + key + value"]),
    ],
)
def test_projections_of_one_tensor_become_one_product(
    model: nn.Module, inputs: Callable[[], list[Tensor]], joined: list[str]
) -> None:
    before = _products(copy.deepcopy(model).eval(), inputs())
    done = taken(model.eval(), inputs(), PROJECTIONS)
    assert sorted(done.found["fused-projections"].changed) == sorted(joined)
    assert _products(done.call, inputs()) == before - 2 * len(joined)


def _products(call: Callable[..., Any], inputs: list[Tensor]) -> int:
    """How many matrix products of a linear layer a call makes."""
    with torch.no_grad():
        call(*inputs)  # captured, before anything is counted
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as seen:
        call(*inputs)
    return sum(event.count for event in seen.key_averages() if event.key == "aten::linear")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_steps_preserve_dtypes_and_gradients(dtype: torch.dtype) -> None:
    model = LlamaModel().to(dtype).eval()
    plain = copy.deepcopy(model)
    x = hidden_states().to(dtype)
    done = optimize(model, [x], Switches((ATTENTION, PROJECTIONS)))
    assert len(done.includes()) == 2
    got, expected = done.call(x), plain(x)
    assert got.dtype == dtype
    got.float().square().sum().backward()
    expected.float().square().sum().backward()
    assert [name for name, p in done.model.named_parameters() if p.grad is None] == []
    if dtype == torch.float64:
        first, layer = plain.layers[0], done.model.get_submodule("layers.0.q_proj")
        assert isinstance(first, Llama)
        parts = [first.q_proj.weight.grad, first.k_proj.weight.grad, first.v_proj.weight.grad]
        wanted = torch.cat([grad for grad in parts if grad is not None])
        torch.testing.assert_close(layer.get_parameter("together.weight").grad, wanted, rtol=1e-3, atol=1e-5)


def test_weights_load_across_versions() -> None:
    model, other = BERT(), BERT()
    inputs = padded()
    done = optimize(model, inputs, Switches((PROJECTIONS,)))
    done.model.load_state_dict(other.state_dict())
    torch.testing.assert_close(done.call(*inputs), other(*inputs))
    other.load_state_dict(done.model.state_dict())
    assert "query.bias" in done.model.load_state_dict({}, strict=False).missing_keys
    with pytest.raises(RuntimeError, match=r"query.weight is \[1\]; \[32, 32\] is needed"):
        done.model.load_state_dict({**other.state_dict(), "query.weight": torch.zeros(1)})


def _watch(model: BERT) -> None:
    model.key.register_forward_hook(lambda *_: None)


def _share(model: BERT) -> None:
    model.key.weight = model.value.weight


class Doubled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def _subclass(model: BERT) -> None:
    model.value = Doubled(WIDTH, WIDTH)


@pytest.mark.parametrize(
    ("change", "joined"), [(_watch, ["query + value"]), (_share, []), (_subclass, ["query + key"])]
)
def test_layers_with_hooks_or_shared_or_of_other_types_are_not_replaced(
    change: Callable[[BERT], None], joined: list[str]
) -> None:
    model = BERT().eval()
    change(model)
    done = taken(model, padded(), PROJECTIONS)
    assert done.found["fused-projections"].changed == joined


def test_convolutional_network_is_not_changed() -> None:
    model = Convolutions().eval()
    done = taken(model, [torch.randn(2, 3, 8, 8)], ATTENTION, PROJECTIONS, GEMM)
    assert done.call is model
    assert done.reason(ATTENTION) == ATTENTION.nothing
    assert done.reason(PROJECTIONS) == PROJECTIONS.nothing
    assert "aiter is not installed" in str(done.reason(GEMM))


def test_one_capture_tells_what_a_later_step_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs = GPT2().eval(), [hidden_states()]
    monkeypatch.setattr(linear.amd, "refusal", lambda *_: None)
    monkeypatch.setitem(linear.ROUTES, "aiter", F.linear)
    later: dict[str, Found] = {}
    done = optimize(copy.deepcopy(model), inputs, Switches((ATTENTION,)), later)
    itself = optimize(copy.deepcopy(model), inputs, Switches((GEMM,)))
    assert later == {GEMM.name: itself.found[GEMM.name]}
    assert later[GEMM.name].changed
    # It was tried on a copy of the graph.
    assert [line.split(":")[0] for line in done.includes()] == [ATTENTION.label]
    monkeypatch.setitem(linear.ROUTES, "aiter", lambda *_: pytest.fail("the linear layers were routed"))
    torch.testing.assert_close(done.call(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)


def test_a_capture_after_replaced_modules_tells_nothing_about_the_model_as_it_is() -> None:
    later: dict[str, Found] = {}
    optimize(GPT2().eval(), [hidden_states()], Switches((ATTENTION, PROJECTIONS)), later)
    assert later == {}


def test_faster_route_is_used_with_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a host whose aiter can run: the route is stood in for by a product that is counted."""
    rows: list[int] = []

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows.append(x.shape[0])
        return F.linear(x, weight, bias)

    monkeypatch.setitem(linear.ROUTES, "aiter", product)
    monkeypatch.setattr(linear.amd, "refusal", lambda *_: None)
    model = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4, bias=False))
    plain, x = copy.deepcopy(model), torch.randn(5, 8)
    done = taken(model, [x], GEMM)
    assert done.found["gemm-routing"].changed == ["aiter for float32 [6, 8] of 0", "aiter for float32 [4, 6] of 2"]
    assert set(rows) == {5}
    done.call(x).sum().backward()
    plain(x).sum().backward()
    for got, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(got.grad, expected.grad)


def test_sdpa_is_routed_to_aiter_if_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Call(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    inputs = [torch.randn(2, HEADS, LENGTH, 8) for _ in range(3)]
    alone = taken(Call(), inputs, ATTENTION)
    assert "is not replaced: aiter is not installed" in str(alone.reason(ATTENTION))
    monkeypatch.setattr(attention.amd, "refusal", lambda _: None)
    monkeypatch.setitem(attention.ROUTES, "aiter", attention.sdpa.prepared)
    torch._dynamo.reset()
    routed = taken(Call(), inputs, ATTENTION)
    assert routed.includes() == ["Attention routing: scaled_dot_product_attention of the model"]


def test_environment_disables_routing() -> None:
    with switches.switched(FORCE_EAGER_ATTENTION="1"):
        assert ATTENTION.refusal(torch.zeros(1)) == "FORCE_EAGER_ATTENTION is 1"
    assert ATTENTION.refusal(torch.zeros(1)) is None
