"""Patching transformers' models: the same results with other kernels, applied completely or not, and restored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers.models.llama import modeling_llama

from hipward_kernels.overlay import OverlayError, decoder, layers, llama, patched, stubs

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent


def tiny_llama(activation: str = "silu") -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=64, hidden_act=activation, max_position_embeddings=64,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def places() -> list[Any]:
    return [
        modeling_llama.LlamaRMSNorm.forward,
        modeling_llama.LlamaMLP.forward,
        modeling_llama.apply_rotary_pos_emb,
        modeling_llama.ALL_ATTENTION_FUNCTIONS,
    ]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often each op ran."""
    counted: dict[str, int] = {}
    for name in ("rmsnorm", "rope", "silu_mul", "gelu_mul", "attention"):
        op: Callable[..., Any] = getattr(layers, name)

        def count(*arguments: Any, name: str = name, op: Callable[..., Any] = op, **keywords: Any) -> Any:
            counted[name] = counted.get(name, 0) + 1
            return op(*arguments, **keywords)

        monkeypatch.setattr(layers, name, count)
    return counted


def test_logits_gradients_and_generated_text_are_unchanged(calls: dict[str, int]) -> None:
    model = tiny_llama()
    ids = torch.randint(0, 64, (2, 9))
    padding = torch.ones_like(ids)
    padding[0, :3] = 0
    before = places()

    def run() -> tuple[Tensor, list[Tensor], Tensor]:
        out = model(input_ids=ids, attention_mask=padding, labels=ids)
        gradients = torch.autograd.grad(out.loss, list(model.parameters()))
        text = model.generate(ids, attention_mask=padding, max_new_tokens=8, do_sample=False, pad_token_id=0)
        return model(input_ids=ids).logits, list(gradients), text

    logits, gradients, text = run()
    with patched(llama):
        assert not any(now is then for now, then in zip(places(), before, strict=True))
        new_logits, new_gradients, new_text = run()
    assert places() == before
    assert set(calls) == {"rmsnorm", "rope", "silu_mul", "attention"}
    torch.testing.assert_close(new_logits, logits, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(new_gradients, gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-6)
    assert torch.equal(new_text, text)
    calls.clear()
    run()
    assert calls == {}


FAMILIES = {
    "qwen2": ("Qwen2", {}, {"rmsnorm", "rope", "silu_mul", "attention"}),
    "qwen3": ("Qwen3", {"head_dim": 16}, {"rmsnorm", "rope", "silu_mul", "attention"}),
    "mistral": ("Mistral", {"sliding_window": 4}, {"rmsnorm", "rope", "silu_mul", "attention"}),
    "gemma": ("Gemma", {"head_dim": 16}, {"rmsnorm", "rope", "gelu_mul", "attention"}),
}


def tiny(prefix: str, **more: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{prefix}Config")(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=64, max_position_embeddings=64, pad_token_id=0, **more,
    )  # fmt: skip
    model = getattr(transformers, f"{prefix}ForCausalLM")(config)
    for name, parameter in model.named_parameters():
        if "norm" in name:
            # Gemma's are zero and the others' one, with which a wrong use could go unnoticed.
            torch.nn.init.normal_(parameter, 0.5, 0.2)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_other_families_have_unchanged_results(family: str, calls: dict[str, int]) -> None:
    prefix, more, expected_calls = FAMILIES[family]
    model, ids = tiny(prefix, **more), torch.randint(1, 64, (2, 9))
    padding = torch.ones_like(ids)
    padding[0, :3] = 0

    def run() -> tuple[Tensor, list[Tensor], Tensor]:
        out = model(input_ids=ids, attention_mask=padding, labels=ids)
        gradients = torch.autograd.grad(out.loss, list(model.parameters()))
        text = model.generate(ids, attention_mask=padding, max_new_tokens=6, do_sample=False, pad_token_id=0)
        return model(input_ids=ids).logits, list(gradients), text

    logits, gradients, text = run()
    assert not calls
    with patched(getattr(decoder, family)):
        new_logits, new_gradients, new_text = run()
    assert set(calls) == expected_calls
    torch.testing.assert_close(new_logits, logits, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(new_gradients, gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-6)
    assert torch.equal(new_text, text)
    calls.clear()
    run()
    assert not calls


def test_patches_of_one_family_do_not_affect_another(calls: dict[str, int]) -> None:
    model, ids = tiny("Qwen2"), torch.randint(1, 64, (1, 5))
    first, second = patched(llama), patched(decoder.mistral)
    first.__enter__()
    second.__enter__()
    model(input_ids=ids)
    # In another order than a nested one.
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert not calls
    assert modeling_llama.ALL_ATTENTION_FUNCTIONS is transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS


def test_gemma_norm_adds_one_in_float32() -> None:
    norm = transformers.models.gemma.modeling_gemma.GemmaRMSNorm(64).bfloat16()
    torch.nn.init.normal_(norm.weight, 0.0, 1e-3)
    x = torch.randn(8, 64).bfloat16()
    expected = norm(x)
    with patched(decoder.gemma):
        torch.testing.assert_close(norm(x), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["softcap", "cache", "position_bias", "s_aux"])
def test_arguments_that_the_router_lacks_are_passed_to_the_original(name: str, calls: dict[str, int]) -> None:
    seen: list[dict[str, Any]] = []

    def original(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **rest: Any) -> str:
        assert (module, attention_mask) == (None, None)
        assert query is key is value
        seen.append(rest)
        return "original"

    x = torch.randn(1, 2, 4, 8)
    assert layers.sdpa(original)(None, x, x, x, None, **{name: 30.0}) == "original"
    assert seen[0][name] == 30.0
    assert not calls


def test_other_activations_use_the_original(calls: dict[str, int]) -> None:
    model, ids = tiny_llama("gelu"), torch.randint(0, 64, (1, 5))
    expected = model(input_ids=ids).logits
    with patched(llama):
        torch.testing.assert_close(model(input_ids=ids).logits, expected, rtol=1e-4, atol=1e-5)
    assert "silu_mul" not in calls


def test_exception_restores_everything() -> None:
    before = places()
    with pytest.raises(RuntimeError, match="from the block"), patched(llama):
        raise RuntimeError("from the block")
    assert places() == before


def test_patches_are_nested_and_removed_with_the_last_block(calls: dict[str, int]) -> None:
    model, ids, before = tiny_llama(), torch.randint(0, 64, (1, 5)), places()
    registered = dict(vars(transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS))
    keys = {name: set(mapping) for name, mapping in registered.items()}
    first, second = patched(llama), patched(llama)
    with first:
        once = places()
        second.__enter__()
        assert places() == once
    # The first block to begin ends first, as it may in threads.
    assert places() == once
    model(input_ids=ids)
    assert calls["attention"] == 2
    second.__exit__(None, None, None)
    assert places() == before
    # What transformers had from its shared table it has from there again, so that a later registration is seen.
    assert {name: set(mapping) for name, mapping in registered.items()} == keys


@pytest.mark.parametrize("version", ["4.52.9", "6.0.0", "3.1", "unknown"])
def test_other_version_is_rejected(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["transformers"], "__version__", version)
    before = places()
    with pytest.raises(OverlayError, match=f"transformers is {version}; these patches are for 4.53"), patched(llama):
        pass
    assert places() == before


def test_function_with_another_signature_is_rejected_and_nothing_is_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    def rotate(q: Tensor, k: Tensor, angles: Tensor) -> None:
        """Another form."""

    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", rotate)
    before = places()
    with pytest.raises(OverlayError, match=r"takes \(q, k, angles\); \(q, k, cos, sin\) was expected"), patched(llama):
        pass
    assert places() == before
    monkeypatch.delattr(modeling_llama, "LlamaMLP")
    with pytest.raises(OverlayError, match=r"has no LlamaMLP\.forward"), patched(llama):
        pass


STUBS = """
import sys
if {blocked}:
    sys.modules["hipward_kernels"] = None
import importlib.util, torch
spec = importlib.util.spec_from_file_location("stubs", {file!r})
stubs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stubs)
torch.manual_seed(0)
x, y, w = torch.randn(4, 8).bfloat16(), torch.randn(4, 8).bfloat16(), torch.rand(8).bfloat16()
q, k, v = torch.randn(1, 2, 4, 8), torch.randn(1, 5, 2, 8), torch.randn(1, 5, 2, 8)
results = [stubs.rmsnorm(x, w), *stubs.add_rmsnorm(x, y, w), stubs.silu_mul(x, y), stubs.gelu_mul(x, y),
           stubs.attention(q, k, v, causal=True), stubs.attention(q, k, v, mask=torch.randn(2, 5), causal=True)]
torch.save([stubs.OPTIMIZED, *results], {out!r})
"""


def test_modeling_file_works_without_the_package(tmp_path: Path) -> None:
    results = []
    for blocked in (False, True):
        out = str(tmp_path / f"{blocked}.pt")
        program = STUBS.format(blocked=blocked, file=stubs.__file__, out=out)
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
        results.append(torch.load(out, weights_only=True))
    assert [result[0] for result in results] == [True, False]
    for mine, theirs in zip(results[0][1:], results[1][1:], strict=True):
        torch.testing.assert_close(mine, theirs)
