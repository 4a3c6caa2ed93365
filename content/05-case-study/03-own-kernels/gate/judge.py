"""Cases for the gate of a whole model: TinyLlama in its tiny size, on the CPU."""

import math

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from hipward_kernels.models.config import VERSIONS, Config
from hipward_kernels.models.llama import TinyLlama
from hipward_kernels.models.weights import copy_weights
from hipward_kernels.numerics.limit import rounding

CONFIG = Config(32, 2, 4, 2, 64, vocab_size=50, max_positions=32)
# Triton kernels run in the interpreter here, program by program, so only one small model has them.
SMALL = Config(16, 1, 2, 1, 32, vocab_size=20, max_positions=8)
EAGER, KERNELS = VERSIONS["v1"], VERSIONS["v3"]
FUSED = VERSIONS["v2"].with_(off=["compile"])
# Longer than any sum of these models, so that chance does not decide about a single number such as the loss.
LONG = 4096


def models(random, *switches, config=CONFIG):
    """A float64 reference, and models with these switches and the same weights, with a batch."""
    torch.manual_seed(random.getrandbits(31))
    first = TinyLlama(config, EAGER)
    for parameter in first.parameters():
        parameter.data.add_(0.1 * tensor(random, *parameter.shape))
    found = [TinyLlama(config, EAGER).double()] + [TinyLlama(config, each) for each in switches]
    for model in found:
        copy_weights(first, model, config, model.switches)
    length = random.choice([15, 16, 17]) if config is CONFIG else 5
    tokens, labels = (torch.randint(config.vocab_size, (2, length)) for _ in range(2))
    return found, (tokens, labels)


def names():
    return ["loss", *dict(TinyLlama(CONFIG, EAGER).named_parameters())]


def case_version_3(answer, random):
    """Version 3 in float32 passes: joined projections, and Triton kernels with their own backward"""
    (exact, candidate), batch = models(random, KERNELS, config=SMALL)
    reference = answer.computed(exact, *batch)
    # A baseline without any error: the rounding allowance decides.
    failed = answer.failures(reference, dict(reference), answer.computed(candidate, *batch), LONG)
    expect(failed == [], f"these tensors fail: {failed}")


def case_names(answer, random):
    """Every parameter is in the result, also one without a gradient, which has NaN"""
    (_, model), batch = models(random, FUSED)
    model.norm.weight.requires_grad_(False)
    found = answer.computed(model, *batch)
    expect(set(found) == set(names()), f"the names differ from those of version 1: {set(found) ^ set(names())}")
    expect(bool(found["norm.weight"].isnan().all()), "norm.weight gets no gradient; its entry must be NaN")
    expect(not any(bool(t.isnan().any()) for name, t in found.items() if name != "norm.weight"), "other entries are NaN")


def case_cut(answer, random):
    """A last norm without a backward: every layer fails, though the loss is right"""
    (exact, baseline, candidate), batch = models(random, EAGER, FUSED)
    candidate.norm.register_forward_hook(lambda module, inputs, output: (output[0].detach(), output[1]))
    results = [answer.computed(model, *batch) for model in (exact, baseline, candidate)]
    failed = answer.failures(*results, LONG)
    expect(set(failed) == set(names()) - {"loss"}, f"failed: {len(failed)} of {len(names())}; all but the loss must fail")


def case_one_gradient(answer, random):
    """One gradient that is 25 % too large: exactly this one fails"""
    (exact, baseline, candidate), batch = models(random, EAGER, EAGER)
    chosen = random.choice(names()[1:])
    dict(candidate.named_parameters())[chosen].register_hook(lambda gradient: gradient * 1.25)
    results = [answer.computed(model, *batch) for model in (exact, baseline, candidate)]
    failed = answer.failures(*results, LONG)
    expect(failed == [chosen], f"failed: {failed}, expected [{chosen!r}]")


def case_bfloat16(answer, random):
    """bfloat16: an equally good version passes, one with eight times the error fails"""
    exact = {f"t{n}": tensor(random, 40, 30, dtype=torch.float64) * 10 ** random.uniform(0, 3) for n in range(6)}
    baseline = {name: t.bfloat16() for name, t in exact.items()}
    # Rounded after a change of a few percent of a unit in the last place.
    good = {name: (t * (1 + 2e-4 * tensor(random, 40, 30))).bfloat16() for name, t in exact.items()}
    failed = answer.failures(exact, baseline, good, 1)
    expect(failed == [], f"failed: {failed}, expected none")
    bad, chosen = dict(good), random.choice(list(exact))
    bad[chosen] = (exact[chosen] + 8 * (baseline[chosen].double() - exact[chosen])).bfloat16()
    failed = answer.failures(exact, baseline, bad, 1)
    expect(failed == [chosen], f"failed: {failed}, expected [{chosen!r}]")


def case_error(answer, random):
    """The error of tensors and of a single number, of all magnitudes and dtypes"""
    for scale in (1e-12, 1.0, 1e9):
        exact = tensor(random, 9, 31, dtype=torch.float64).t() * scale
        part = random.uniform(0.001, 0.5)
        expect_close(float(answer.error(exact * (1 + part), exact)), part, rtol=1e-6)
        expect_close(float(answer.error(exact * (1 - part), exact)), part, rtol=1e-6)
    exact = tensor(random, 500, dtype=torch.float64)
    rounded = exact.bfloat16()
    want = float((rounded.double() - exact).norm() / exact.norm())
    expect_close(float(answer.error(rounded, exact)), want, rtol=1e-6)
    number = torch.tensor(random.uniform(1, 9), dtype=torch.float64)
    expect_close(float(answer.error(number + 0.5, number)), 0.5 / float(number), rtol=1e-6)


def case_limits(answer, random):
    """Twice the baseline's error, the allowance by dtype and length of the sums, and NaN and infinity, which never pass"""
    x = torch.ones(100, dtype=torch.float64)

    def one(own, mine, length=1, dtype=torch.float64):
        return answer.failures({"t": x}, {"t": x * (1 + own)}, {"t": (x * (1 + mine)).to(dtype)}, length)

    for dtype, length in ((torch.float32, random.choice([2500, 10_000])), (torch.float64, 100), (torch.bfloat16, 4096)):
        allowed = rounding(dtype, length)
        # bfloat16 has no number closer to 1 than its allowance, except 1 itself.
        if dtype != torch.bfloat16:
            expect(one(0.0, allowed / 2, length, dtype) == [], f"half of the allowance fails ({dtype})")
        expect(one(0.0, allowed * 4, length, dtype) == ["t"], f"four times the allowance passes ({dtype})")
        expect(one(0.02, 0.03, length, dtype) == [], "an error of 1.5 times the baseline's fails")
        expect(one(0.02, 0.06, length, dtype) == ["t"], "an error of 3 times the baseline's passes")
    expect(one(0.0, 1e-6, 10_000, torch.float32) == [], "float32 sums of 10000 numbers may have an error of 0.000001")
    expect(one(0.0, 1e-6, 4, torch.float32) == ["t"], "float32 sums of 4 numbers must not have an error of 0.000001")
    expect(one(0.02, math.nan) == ["t"], "NaN passes")
    expect(one(0.02, math.inf) == ["t"], "infinity passes")
