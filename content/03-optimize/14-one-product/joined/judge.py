"""The joined projection, compared with three layers in float64."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

WIDTH, HEADS, KV_HEADS = 24, 6, 2
FEATURES = WIDTH // HEADS
SIZES = {"q_proj": WIDTH, "k_proj": KV_HEADS * FEATURES, "v_proj": KV_HEADS * FEATURES}
# float32, sums of 24 products: a few units of 1.2e-7, on values up to about 20.
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def checkpoint(random, biases=tuple(SIZES)):
    state = {f"{name}.weight": tensor(random, size, WIDTH) for name, size in SIZES.items()}
    return state | {f"{name}.bias": tensor(random, SIZES[name]) for name in biases}


def loaded(answer, state):
    module = answer.JoinedQKV(WIDTH, HEADS, KV_HEADS)
    with torch.no_grad():
        module.weight.fill_(float("nan"))
        module.bias.fill_(float("nan"))
    module.load_separate({name: value.clone() for name, value in state.items()})
    return module


def expected(state, x):
    parts = []
    for name, size in SIZES.items():
        bias = state.get(f"{name}.bias", torch.zeros(size)).double()
        y = x.double() @ state[f"{name}.weight"].double().T + bias
        parts.append(y.unflatten(-1, (-1, FEATURES)))
    return parts


def compare(got, want):
    expect(len(got) == 3, f"{len(got)} results, expected q, k and v")
    for name, mine, exact in zip("qkv", got, want, strict=True):
        expect_close(mine, exact, **CLOSE, what=name)


def case_values(answer, random):
    """q, k and v of 6 and 2 heads, with all biases"""
    state = checkpoint(random)
    for batch, length in ((1, 1), (2, 5)):
        x = tensor(random, batch, length, WIDTH)
        compare(loaded(answer, state)(x.clone()), expected(state, x))


def case_missing_biases(answer, random):
    """Only q has a bias in the checkpoint"""
    state = checkpoint(random, biases=("q_proj",))
    x = tensor(random, 2, 3, WIDTH)
    compare(loaded(answer, state)(x.clone()), expected(state, x))


PRODUCTS = [F.linear, torch.matmul, torch.mm, torch.addmm, torch.bmm, torch.baddbmm, torch.einsum]
PRODUCTS += [getattr(torch.Tensor, name) for name in ("matmul", "mm", "addmm", "bmm", "__matmul__", "__rmatmul__")]


class Products(TorchFunctionMode):
    """Counts matrix products."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += func in PRODUCTS
        return func(*args, **(kwargs or {}))


def case_one_product(answer, random):
    """One matrix product"""
    state = checkpoint(random)
    module, x = loaded(answer, state), tensor(random, 2, 5, WIDTH)
    with Products() as seen, torch.no_grad():
        got = module(x)
    expect(seen.count == 1, f"{seen.count} matrix products, expected 1")
    compare(got, expected(state, x))


def case_views(answer, random):
    """q, k and v are views into one result"""
    module = loaded(answer, checkpoint(random))
    with torch.no_grad():
        got = module(tensor(random, 2, 5, WIDTH))
    rows = sum(SIZES.values())
    for name, part in zip("qkv", got, strict=True):
        expect(part.stride(1) == rows, f"{name}: the stride of the tokens is {part.stride(1)}, expected {rows}")
        expect(part.untyped_storage().nbytes() == 10 * rows * 4, f"{name} has memory of its own")


def case_checkpoint(answer, random):
    """Saving returns what was loaded"""
    state = checkpoint(random)
    got = loaded(answer, state).save_separate()
    expect(got.keys() == state.keys(), f"names {sorted(got)}, expected {sorted(state)}")
    for name, value in state.items():
        expect_close(got[name], value, what=name)


def case_gradients(answer, random):
    """Weight and bias receive gradients"""
    state = checkpoint(random)
    module, x = loaded(answer, state), tensor(random, 2, 3, WIDTH)
    q, k, v = module(x)
    (q.sum() + 2 * k.sum() + 3 * v.sum()).backward()
    factors = torch.cat([torch.full((size,), float(n)) for n, size in enumerate(SIZES.values(), 1)])
    expect(module.weight.grad is not None, "the weight has no gradient")
    expect_close(module.weight.grad, factors[:, None].double() * x.double().sum((0, 1)), **CLOSE)
    expect_close(module.bias.grad, 6 * factors.double(), **CLOSE)
