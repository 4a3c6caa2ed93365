"""TinyLlama's versions compute the same function with all switches, in training and decoding."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from hipward_kernels.models import SIZES, VERSIONS, Config, Switches, TinyLlama, cost, llama, training
from hipward_kernels.models.cache import StaticCache
from hipward_kernels.models.config import SWITCHES, version
from hipward_kernels.models.data import SURPRISES, Batch, batches
from hipward_kernels.models.generation import generate, new_cache
from hipward_kernels.models.graphs import GraphedDecoding, GraphedStep, GraphRefusedError, TrainingState
from hipward_kernels.models.weights import copy_weights, fused, gradients, separate, with_rope_layout, without_gradient

if TYPE_CHECKING:
    from hipward_kernels.ops.rope.layout import Layout

CPU = torch.device("cpu")
TINY = SIZES["tiny"].config
LAYOUTS: list[Layout] = ["interleaved", "half"]
# Compiling takes half a minute on a CPU; test_compiled_versions_agree does it once for each.
UNCOMPILED = {name: switches.with_(off=["compile"]) for name, switches in VERSIONS.items()}


def single(name: str) -> Switches:
    """One switch on, with what it needs."""
    needed = {
        "qkv_rope_kernel": ["fused_qkv"],
        "swiglu_kernel": ["fused_gate_up"],
        "decode_kernels": ["fused_qkv", "fused_gate_up", "static_cache"],
    }
    return Switches().with_(on=[*needed.get(name, []), name])


ALONE = {name: single(name) for name in SWITCHES if name != "compile"}


def models(config: Config, *sets: Switches) -> list[TinyLlama]:
    """Float64 models with the same weights, not small ones, so that every part of the function matters."""
    torch.manual_seed(0)
    first = TinyLlama(config, Switches()).double()
    with torch.no_grad():
        for name, parameter in first.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.2 if parameter.dim() > 1 else 1))
            assert parameter.numel(), name
    made = []
    for switches in sets:
        model = TinyLlama(config, switches).double()
        copy_weights(first, model, config, switches)
        made.append(model)
    return made


def a_batch(config: Config, size: int = 3, length: int = 17) -> Batch:
    return next(batches(config, size, length, CPU, seed=5))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("switches", [*UNCOMPILED.values(), *ALONE.values()], ids=[*UNCOMPILED, *ALONE])
def test_every_version_and_switch_computes_the_same_with_the_same_gradients(switches: Switches, layout: Layout) -> None:
    config = replace(TINY, rope_layout=layout)
    plain, other = models(config, Switches(), switches)
    batch = a_batch(config)
    for model in (plain, other):
        model(*batch).backward()
        assert without_gradient(model) == []
    torch.testing.assert_close(other(batch.tokens), plain(batch.tokens), rtol=1e-9, atol=1e-9)
    expected, got = gradients(plain, config), gradients(other, config)
    assert got.keys() == expected.keys() == dict(plain.named_parameters()).keys()
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("heads", [(4, 4), (4, 1)], ids=["multi-head", "multi-query"])
def test_grouped_query_attention_supports_any_group_size(heads: tuple[int, int]) -> None:
    config = replace(TINY, num_heads=heads[0], num_kv_heads=heads[1])
    plain, other = models(config, Switches(), UNCOMPILED["v4"])
    tokens = a_batch(config).tokens
    torch.testing.assert_close(other(tokens), plain(tokens), rtol=1e-9, atol=1e-9)


def test_no_logits_depend_on_later_tokens() -> None:
    for model in models(TINY, *UNCOMPILED.values()):
        tokens = a_batch(TINY).tokens
        changed = tokens.clone()
        changed[:, 9] = (changed[:, 9] + 1) % TINY.vocab_size
        before, after = model(tokens), model(changed)
        torch.testing.assert_close(after[:, :9], before[:, :9])
        assert not torch.allclose(after[:, 9:], before[:, 9:])


def test_outputs_depend_on_positions() -> None:
    (model,) = models(TINY, Switches())
    tokens = torch.tensor([[7, 3, 7, 3, 9]])
    swapped = torch.tensor([[3, 7, 7, 3, 9]])
    assert not torch.allclose(model(tokens)[:, -1], model(swapped)[:, -1])


def test_converted_rope_layout_is_the_same_model() -> None:
    (interleaved,) = models(TINY, Switches())
    config = replace(TINY, rope_layout="half")
    half = TinyLlama(config, Switches()).double()
    tokens = a_batch(TINY).tokens
    half.load_state_dict(interleaved.state_dict())
    assert not torch.allclose(half(tokens), interleaved(tokens)), "the layouts differ, or there is nothing to convert"
    half.load_state_dict(with_rope_layout(interleaved.state_dict(), config, "half"))
    torch.testing.assert_close(half(tokens), interleaved(tokens), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pair", list(itertools.permutations(VERSIONS, 2)), ids="-".join)
def test_state_dict_is_converted_between_all_versions(pair: tuple[str, str]) -> None:
    first, second = (UNCOMPILED[name] for name in pair)  # type: ignore[index]
    (source,) = models(TINY, first)
    state = source.state_dict()
    target = TinyLlama(TINY, second).double()
    target.load_state_dict(fused(separate(state, TINY), second))
    back = fused(separate(target.state_dict(), TINY), first)
    assert back.keys() == state.keys()
    for name, tensor in state.items():
        assert torch.equal(back[name], tensor), name


# Training


def test_labels_are_the_next_tokens_shifted_once() -> None:
    batch = a_batch(TINY, size=4, length=50)
    assert torch.equal(batch.labels[:, :-1], batch.tokens[:, 1:])
    (model,) = models(TINY, Switches())
    expected = F.cross_entropy(model(batch.tokens)[:, 10], batch.labels[:, 10])
    alone = torch.full_like(batch.labels, -100)
    alone[:, 10] = batch.labels[:, 10]
    torch.testing.assert_close(model(batch.tokens, alone), expected)


def test_data_is_mostly_predictable_and_reproducible() -> None:
    tokens, labels = next(batches(TINY, 64, 200, CPU, seed=1))
    followers: dict[int, dict[int, int]] = {}
    for token, label in zip(tokens.flatten().tolist(), labels.flatten().tolist(), strict=True):
        counts = followers.setdefault(token, {})
        counts[label] = counts.get(label, 0) + 1
    usual = sum(max(counts.values()) for counts in followers.values()) / tokens.numel()
    assert usual == pytest.approx(1 - SURPRISES, abs=0.02)
    assert torch.equal(next(batches(TINY, 64, 200, CPU, seed=1)).tokens, tokens)
    assert not torch.equal(next(batches(TINY, 64, 200, CPU, seed=2)).tokens, tokens)


def curve(switches: Switches, precision: training.Precision = "float32", steps: int = 25) -> Tensor:
    trainer = training.build(TINY, switches, CPU, precision)
    for group in trainer.optimizer.param_groups:
        group["lr"] = 3e-3
    weights = training.build(TINY, Switches(), CPU).model.state_dict()
    trainer.model.load_state_dict(fused(weights, switches))
    return torch.tensor(training.loss_curve(trainer, batches(TINY, 16, 32, CPU), steps))


def test_all_versions_have_the_same_loss_curve() -> None:
    first = curve(UNCOMPILED["v1"], steps=60)
    assert first[0] == pytest.approx(torch.tensor(TINY.vocab_size).log().item(), abs=0.1)
    assert first[-1] < 0.6 * first[0], "it learns"
    for name in ("v2", "v3", "v4"):
        torch.testing.assert_close(curve(UNCOMPILED[name], steps=60), first, rtol=1e-4, atol=0)


def test_versions_agree_in_bfloat16() -> None:
    first = curve(UNCOMPILED["v1"], "bfloat16")
    for name in ("v2", "v3", "v4"):
        torch.testing.assert_close(curve(UNCOMPILED[name], "bfloat16"), first, rtol=1e-2, atol=0)
    torch.testing.assert_close(first, curve(UNCOMPILED["v1"]), rtol=1e-2, atol=0)


@pytest.mark.parametrize("name", ["v2", "v4"])
def test_compiled_versions_agree(name: str) -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.testing.assert_close(curve(VERSIONS[name], steps=4), curve(UNCOMPILED["v1"], steps=4), rtol=1e-4, atol=0)  # type: ignore[index]
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert compiled == 2, "the first layer has no residual yet; all others share one graph"


def test_norm_without_a_backward_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(x: Tensor, weight: Tensor, eps: float) -> Tensor:
        return llama.plain_rmsnorm(x, weight, eps).detach()

    monkeypatch.setattr(llama, "rmsnorm", broken)
    trainer = training.build(TINY, UNCOMPILED["v3"], CPU)
    trainer.backward(trainer.forward(a_batch(TINY)))
    missing = without_gradient(trainer.model)
    assert len(missing) == len(list(trainer.model.parameters())) - 1
    assert "embed_tokens.weight" not in missing, "the head still trains it, so the loss still falls"


def test_rejected_graph_does_not_change_training() -> None:
    if torch.cuda.is_available():
        pytest.skip("a GPU captures it: test_models_gpu.py")
    trainer = training.build(TINY, UNCOMPILED["v4"], CPU)
    before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    with pytest.raises(GraphRefusedError, match="need a GPU"):
        GraphedStep(trainer, [a_batch(TINY)])
    assert all(torch.equal(tensor, before[name]) for name, tensor in trainer.model.state_dict().items())


def test_training_state_is_restored_with_its_moments() -> None:
    trainer = training.build(TINY, Switches(), CPU)
    data = [a_batch(TINY, size=size) for size in (1, 2, 3)]
    fresh = TrainingState(trainer)
    first = [trainer.step(batch) for batch in data]
    later = TrainingState(trainer)
    second = [trainer.step(batch) for batch in data]
    later.restore()
    assert [trainer.step(batch) for batch in data] == second
    fresh.restore()
    assert [trainer.step(batch) for batch in data] == first


# Decoding


@pytest.mark.parametrize("switches", [*UNCOMPILED.values(), ALONE["static_cache"]], ids=str)
def test_decoding_with_a_cache_matches_the_full_forward(switches: Switches) -> None:
    (model,) = models(TINY, switches)
    text = a_batch(TINY, size=2, length=12).tokens
    whole = model(text)
    cache = new_cache(model, batch=2, length=20)
    torch.testing.assert_close(model.prefill(text[:, :5], cache)[:, 0], whole[:, 4])
    for t in range(5, 12):
        torch.testing.assert_close(model.decode(text[:, t : t + 1], cache)[:, 0], whole[:, t])


def test_cleared_cache_behaves_like_a_new_one() -> None:
    (model,) = models(TINY, ALONE["static_cache"])
    cache = new_cache(model, batch=1, length=20)
    assert isinstance(cache, StaticCache)
    long, short = torch.randint(TINY.vocab_size, (1, 15)), torch.randint(TINY.vocab_size, (1, 4))
    model.prefill(long, cache)
    cache.clear()
    model.prefill(short[:, :3], cache)
    torch.testing.assert_close(model.decode(short[:, 3:], cache), model(short)[:, 3:])


def test_all_versions_generate_the_same_text() -> None:
    prompt = a_batch(TINY, size=2, length=6).tokens
    torch._dynamo.utils.counters.clear()
    texts = [generate(model, prompt, 10) for model in models(TINY, *VERSIONS.values())]
    assert not torch._dynamo.utils.counters["stats"]
    assert len(set(texts[0].flatten().tolist())) > 3, "a text of one token would hide mistakes"
    for text in texts[1:]:
        assert torch.equal(text, texts[0])


def test_undecodable_input_is_rejected_with_a_message() -> None:
    plain, static = models(TINY, Switches(), ALONE["static_cache"])
    prompt = torch.zeros(1, 8, dtype=torch.int64)
    with pytest.raises(ValueError, match="positions for 256"):
        generate(plain, prompt, 249)
    with pytest.raises(GraphRefusedError, match="static_cache"):
        GraphedDecoding(plain, prompt, 4)
    if not torch.cuda.is_available():
        with pytest.raises(GraphRefusedError, match="need a GPU"):
            GraphedDecoding(static, prompt, 4)


# Configuration and cost


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_heads": 5}, "multiple of the next"),
        ({"num_kv_heads": 3}, "multiple of the next"),
        ({"hidden_size": 12, "num_heads": 4}, "pairs"),
    ],
)
def test_impossible_sizes_are_rejected(changes: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(TINY, **changes)  # type: ignore[arg-type]


def test_impossible_switches_are_rejected() -> None:
    with pytest.raises(ValueError, match="needs fused_qkv"):
        Switches(qkv_rope_kernel=True)
    with pytest.raises(ValueError, match="needs fused_gate_up"):
        Switches(swiglu_kernel=True)
    with pytest.raises(ValueError, match="v1, v2, v3, v4"):
        version("v5")


def test_rotary_tables_of_a_16_bit_model_stay_in_float32() -> None:
    model = TinyLlama(TINY, Switches())
    assert model.to(torch.bfloat16).cos.dtype == torch.float32
    assert model.double().cos.dtype == torch.float64
    torch.testing.assert_close(model.cos[200, 0], torch.tensor(200.0, dtype=torch.float64).cos(), rtol=1e-14, atol=0)


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_parameters_and_operations_match_the_model(size: str) -> None:
    config = SIZES[size].config
    with torch.device("meta"):
        model = TinyLlama(config, Switches())
    assert cost.parameters(config) == sum(parameter.numel() for parameter in model.parameters())
    batch_size, length = 2, 48
    tokens = torch.empty(batch_size, length, dtype=torch.int64, device="meta")
    with FlopCounterMode(display=False) as counter:
        model(tokens, tokens).backward()
    needed = cost.training_step(config, batch_size, length, itemsize=4)
    # V1 computes all length² scores, the formula the (length + 1) / 2 for each token that a causal mask leaves.
    computed = needed.matmul_flops + needed.attention_flops * 2 * length / (length + 1)
    assert counter.get_total_flops() == pytest.approx(computed, rel=1e-12)


def test_medium_model_has_the_size_of_the_original() -> None:
    assert cost.parameters(SIZES["medium"].config) == pytest.approx(189.79e6, rel=1e-4)
