"""Cases for the fusions of version 2. float32 on the CPU."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.utils._python_dispatch import TorchDispatchMode

# float32: sums of at most 64 products, and weights that keep values near 1. Two orders of summation differ by about
# 1e-6; an error of the computation is above 1e-2.
CLOSE = {"atol": 2e-5, "rtol": 2e-5}


def layer(random, heads, kv_heads, size):
    features, inner = heads * size, random.choice([24, 40])
    shapes = {"q": heads * size, "k": kv_heads * size, "v": kv_heads * size, "o": features, "gate": inner, "up": inner}
    weights = {name: tensor(random, rows, features) / features**0.5 for name, rows in shapes.items()}
    return {**weights, "down": tensor(random, features, inner) / inner**0.5}, features


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names, self.largest = [], 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out = operator(*args, **(kwargs or {}))
        if not operator.is_view and not any(word in operator.name() for word in ("empty", "_unsafe_view")):
            self.names.append(operator.name().removeprefix("aten::"))
        for one in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(one, torch.Tensor):
                self.largest = max(self.largest, one.numel())
        return out


def case_values(answer, random):
    """Results equal those of version 1: lengths 1, 31, 32 and 33, with shared and with own keys, and a strided input"""
    for heads, kv_heads in ((4, 2), (4, 1), (3, 3)):
        weights, features = layer(random, heads, kv_heads, 8)
        model = answer.Version2({name: w.clone() for name, w in weights.items()}, heads, kv_heads)
        for length in (1, 31, 32, 33):
            x = tensor(random, length, 2, features).transpose(0, 1)
            expected = answer.version_1(x.clone(), weights, heads, kv_heads)
            what = f"{heads} heads, {kv_heads} of keys, length {length}: the result"
            expect_close(model(x), expected, what=what, **CLOSE)


def case_gradients(answer, random):
    """Gradients of the input and of each weight equal those of version 1"""
    heads, kv_heads = 4, 2
    weights, features = layer(random, heads, kv_heads, 8)
    parts = {name: w.clone().requires_grad_() for name, w in weights.items()}
    x, weight = tensor(random, 2, 17, features).requires_grad_(), tensor(random, 2, 17, features)
    (answer.version_1(x, parts, heads, kv_heads) * weight).sum().backward()
    mine = x.detach().clone().requires_grad_()
    model = answer.Version2({name: w.clone() for name, w in weights.items()}, heads, kv_heads)
    (model(mine) * weight).sum().backward()
    expect_close(mine.grad, x.grad, what="the gradient of x", **CLOSE)
    trained = dict(model.named_parameters())
    for name, parameter in trained.items():
        expect(parameter.grad is not None, f"{name} gets no gradient")
    rows = sum(parameter.numel() for parameter in trained.values())
    expect(rows == sum(w.numel() for w in weights.values()), "some weights are not parameters, so they are not trained")
    # Rows of gradients, in any order of the parts.
    for names in (("q", "k", "v"), ("gate", "up"), ("o",), ("down",)):
        wanted = torch.cat([parts[name].grad for name in names])
        near = [p for p in trained.values() if p.shape == wanted.shape]
        sums = wanted.double().abs().sum(1).sort().values
        fits = any(torch.allclose(p.grad.double().abs().sum(1).sort().values, sums, atol=1e-3, rtol=1e-3) for p in near)
        expect(fits, f"no parameter has the gradients of {', '.join(names)}")


def case_operators(answer, random):
    """Four matrix products, one attention, and four more operators"""
    heads, kv_heads = 4, 2
    weights, features = layer(random, heads, kv_heads, 8)
    model = answer.Version2(weights, heads, kv_heads)
    x = tensor(random, 2, random.choice([9, 16]), features)
    with torch.no_grad(), Operators() as seen:
        model(x)
    names = ", ".join(seen.names)
    products = sum(name in ("mm", "bmm", "addmm", "matmul") for name in seen.names)
    expect(products == 4, f"{products} matrix products, expected 4: {names}")
    expect(sum("attention" in name for name in seen.names) == 1, f"no attention operator: {names}")
    # silu, a product of elements and two additions.
    expect(len(seen.names) <= 9, f"{len(seen.names)} operators, 9 are enough: {names}")


def case_memory(answer, random):
    """No tensor grows with the square of the length"""
    heads, kv_heads, size = 2, 1, 4
    weights, features = layer(random, heads, kv_heads, size)
    model = answer.Version2(weights, heads, kv_heads)
    length = random.choice([511, 512, 513])
    with Operators() as seen:
        model(tensor(random, 1, length, features).requires_grad_())
    expect(seen.largest < length * length, f"a tensor of {seen.largest} elements at length {length}, whose square is {length * length}")


def case_exponent(answer, random):
    """Growth exponents of a power law, and of the page's numbers"""
    for power in (1.0, 2.0, random.uniform(0.3, 2.5)):
        short = random.choice([32, 100, 128])
        long = short * random.choice([2, 3, 8])
        first = random.uniform(1, 1e6)
        expect_close(float(answer.exponent(first, first * (long / short) ** power, short, long)), power, rtol=1e-9)
    expect_close(float(answer.exponent(2985.99, 7919.03, 512, 1024)), 1.407, atol=1e-3)
