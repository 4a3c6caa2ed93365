"""Cases for a cache of fixed size, in TinyLlama on the CPU."""

import torch
from hipward_kernels.exercise import expect, expect_close
from hipward_kernels.models.config import VERSIONS, Config
from hipward_kernels.models.llama import TinyLlama
from torch.utils._python_dispatch import TorchDispatchMode

CONFIG = Config(32, 2, 4, 2, 64, vocab_size=40, max_positions=32)
# float32, two layers; a wrong mask or position changes logits by more than 1e-2.
CLOSE = {"atol": 1e-4, "rtol": 1e-4}


def model_of(random):
    torch.manual_seed(random.getrandbits(31))
    model = TinyLlama(CONFIG, VERSIONS["v1"]).eval()
    for parameter in model.parameters():
        # Larger than a fresh model's, so that attention is not nearly uniform.
        parameter.data.mul_(8 if parameter.dim() > 1 else 1)
    return model


def cache_of(answer, batch, length):
    return answer.FixedCache(CONFIG.num_layers, batch, length, CONFIG.num_kv_heads, CONFIG.head_dim)


@torch.no_grad()
def check(answer, model, tokens, prompt, cache):
    """Feeds `tokens` to the model, the prompt at once and the rest one by one; compares all logits."""
    expected = model(tokens)
    got = [model.prefill(tokens[:, :prompt], cache)]
    got += [model.decode(tokens[:, t : t + 1], cache) for t in range(prompt, tokens.shape[1])]
    for number, logits in enumerate(got, prompt - 1):
        expect_close(logits[:, 0], expected[:, number], what=f"prompt of {prompt}: the logits after token {number}", **CLOSE)


def text(random, batch, length):
    generator = torch.Generator().manual_seed(random.getrandbits(63))
    return torch.randint(CONFIG.vocab_size, (batch, length), generator=generator)


def case_text(answer, random):
    """Logits equal those without a cache: prompts of 2, 7, 8 and 9 tokens, one to three sequences"""
    model = model_of(random)
    for prompt in (2, 7, 8, 9):
        batch = random.choice([1, 2, 3])
        check(answer, model, text(random, batch, prompt + 5), prompt, cache_of(answer, batch, 20))


def case_last_position(answer, random):
    """A text that fills the buffers to the last position"""
    model, length = model_of(random), random.choice([11, 16])
    check(answer, model, text(random, 2, length), 4, cache_of(answer, 2, length))


def case_second_text(answer, random):
    """A shorter text after a longer one, in the same buffers"""
    model, cache = model_of(random), cache_of(answer, 1, 24)
    check(answer, model, text(random, 1, 20), 10, cache)
    cache.clear()
    check(answer, model, text(random, 1, 9), 3, cache)


def addresses(cache):
    tensors = {"position": cache.position, "visible": cache.visible}
    for number, layer in enumerate(cache.layers):
        tensors |= {f"k of layer {number}": layer.k, f"v of layer {number}": layer.v, f"visible of layer {number}": layer.visible}
    return {name: (tensor.data_ptr(), tuple(tensor.shape)) for name, tensor in tensors.items()}


@torch.no_grad()
def case_addresses(answer, random):
    """No tensor moves or changes its shape while tokens are decoded"""
    model, cache = model_of(random), cache_of(answer, 1, 16)
    before = addresses(cache)
    tokens = text(random, 1, 12)
    model.prefill(tokens[:, :5], cache)
    for t in range(5, 12):
        model.decode(tokens[:, t : t + 1], cache)
    after = addresses(cache)
    for name, place in before.items():
        expect(after[name] == place, f"{name} has moved or changed its shape")
    expect(cache.position.tolist() == [12], f"the position is {cache.position.tolist()} after 12 tokens")


class NoWaiting(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if "_local_scalar_dense" in operator.name() or "nonzero" in operator.name():
            raise AssertionError("the step reads a value of a tensor on the host")
        return operator(*args, **(kwargs or {}))


@torch.no_grad()
def case_no_waiting(answer, random):
    """A step of decoding never reads a tensor's value on the host"""
    model, cache = model_of(random), cache_of(answer, 2, 12)
    tokens = text(random, 2, 8)
    model.prefill(tokens[:, :4], cache)
    with NoWaiting():
        for t in range(4, 8):
            model.decode(tokens[:, t : t + 1], cache)


def case_rate(answer, random):
    """GB/s of a step of decoding; version 4 of the page"""
    expect_close(float(answer.gb_per_s(379_586_560, 0, 0.166433)), 2280.7, rtol=1e-4)
    parameters, cache, ms = random.randint(10**6, 10**10), random.randint(10**5, 10**8), random.uniform(0.1, 20)
    expect_close(float(answer.gb_per_s(parameters, cache, ms)), (parameters + cache) / ms * 1e-6, rtol=1e-9)
