"""Cases for operators by part: TinyLlama in its tiny size, on the CPU."""

import torch
from hipward_kernels.exercise import expect
from hipward_kernels.models.config import SIZES, VERSIONS, Config
from hipward_kernels.models.llama import TinyLlama
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

PARTS = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp", "norm")


class Calls(TorchDispatchMode):
    """The reference: names of the operators that do work, of one call."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if not operator.is_view and not any(word in operator.name() for word in ("empty", "_unsafe_view")):
            self.names.append(operator.name())
        return operator(*args, **(kwargs or {}))


def alone(work):
    with Calls() as calls:
        work()
    return len(calls.names)


def equal(found, expected):
    got = {part: number for part, number in dict(found).items() if number}
    for part in {**expected, **got}:
        expect(got.get(part, 0) == expected.get(part, 0), f"{part}: {got.get(part, 0)} operators, expected {expected.get(part, 0)}")


def check_model(answer, random, config, switches):
    torch.manual_seed(random.getrandbits(31))
    model = TinyLlama(config, switches)
    tokens = torch.randint(config.vocab_size, (random.choice([1, 2]), random.choice([7, 8, 9])))
    layer = model.layers[0]
    x, stream = torch.randn(*tokens.shape, config.hidden_size), torch.randn(*tokens.shape, config.hidden_size)
    cos, sin = model.cos[: tokens.shape[1]], model.sin[: tokens.shape[1]]
    norm = alone(lambda: layer.input_layernorm(x, stream))
    first = alone(lambda: layer.input_layernorm(x, None))
    expected = {
        # The first layer has no stream to add.
        "input_layernorm": first + (config.num_layers - 1) * norm,
        "self_attn": config.num_layers * alone(lambda: layer.self_attn(x, cos, sin)),
        "post_attention_layernorm": config.num_layers * norm,
        "mlp": config.num_layers * alone(lambda: layer.mlp(x)),
        "norm": norm,
    }
    total = alone(lambda: model(tokens, tokens))
    expected["rest"] = total - sum(expected.values())
    equal(answer.operators(model, PARTS, lambda: model(tokens, tokens)), expected)


def case_versions(answer, random):
    """Version 1, and version 2 without the compiler: all parts and the rest"""
    config = SIZES["tiny"].config
    check_model(answer, random, config, VERSIONS["v1"])
    check_model(answer, random, config, VERSIONS["v2"].with_(off=["compile"]))


def case_layers(answer, random):
    """A model with one layer, and one with five"""
    for layers in (1, 5):
        check_model(answer, random, Config(32, layers, 4, 2, 64, vocab_size=50), VERSIONS["v1"])


class Inner(nn.Module):
    def forward(self, x):
        return (x * 2).relu().view(-1)


class Outer(nn.Module):
    def __init__(self, times):
        super().__init__()
        self.inner, self.times = Inner(), times

    def forward(self, x):
        x = x + 1
        for _ in range(self.times):
            x = self.inner(x).view(3, 4)
        return x.exp() - x


class Whole(nn.Module):
    def __init__(self, times):
        super().__init__()
        self.outer = Outer(times)

    def forward(self, x):
        return self.outer(x).sin()


def case_nested(answer, random):
    """A part inside another, called several times"""
    times = random.randint(2, 6)
    model, x = Whole(times), torch.randn(3, 4)
    found = answer.operators(model, ["outer", "inner"], lambda: model(x))
    equal(found, {"inner": 2 * times, "outer": 3, "rest": 1})


def case_views(answer, random):
    """Views and allocations are not counted"""
    x = torch.randn(4, 6)
    views = random.randint(3, 9)

    def run():
        torch.empty(5)
        for _ in range(views):
            x.view(6, 4).transpose(0, 1)[1:].unsqueeze(0)
        x.cos()

    equal(answer.operators(nn.Linear(2, 2), ["absent"], run), {"rest": 1})


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def case_clean(answer, random):
    """No hook remains on the model, and the result of a call is unchanged"""
    model, x = Whole(2), torch.randn(3, 4)
    before = model(x)
    seen = []
    answer.operators(model, ["outer", "inner"], lambda: seen.append(model(x)))
    expect(hooks(model) == 0, f"{hooks(model)} hooks remain")
    expect(len(seen) == 1, f"the function ran {len(seen)} times")
    expect(torch.equal(seen[0], before), "the hooks changed the result of the model")


def case_error(answer, random):
    """A run that fails: the error is raised, and no hook remains"""
    model = Whole(2)
    try:
        answer.operators(model, ["outer", "inner"], lambda: model(torch.randn(5, 5)))
    except RuntimeError:
        pass
    else:
        expect(condition=False, message="the error of the run was swallowed")
    expect(hooks(model) == 0, f"{hooks(model)} hooks remain")
