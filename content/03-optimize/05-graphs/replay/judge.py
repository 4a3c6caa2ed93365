"""A graph in miniature on the CPU: it records the functions of one call with their tensors, and repeats them."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch.overrides import TorchFunctionMode

# float32, sums of 6 products: a few units of 1.2e-7, on values up to about 10.
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


READS = [getattr(torch.Tensor, name) for name in ("item", "tolist", "__bool__", "__float__", "__int__", "numpy", "cpu")]


class Tape(TorchFunctionMode):
    """Records functions that return tensors. Like a GPU, it refuses to wait for a value during a capture."""

    def __init__(self):
        super().__init__()
        self.functions, self.replays = [], 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in READS:
            raise RuntimeError("operation not permitted when stream is capturing")
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.functions.append((func, args, kwargs or {}, out))
        return out

    @torch.no_grad()
    def replay(self):
        self.replays += 1
        for func, args, kwargs, out in self.functions:
            again = func(*args, **kwargs)
            if not out._is_view() and out is not again:
                out.copy_(again)


class Model:
    """A linear layer."""

    cold_calls = 0
    """Calls until it is ready, if it is compiled and tuned first."""

    def __init__(self, random):
        self.weight, self.bias = tensor(random, 6, 4), tensor(random, 4)
        self.calls, self.tape = 0, None

    def __call__(self, x):
        self.calls += 1
        if self.tape is not None and self.calls <= self.cold_calls:
            raise RuntimeError("the library allocates a workspace in its first calls, which a capture does not permit")
        return torch.tanh(x @ self.weight + self.bias)

    @torch.no_grad()
    def capture(self, work):
        self.tape = tape = Tape()
        with tape:
            result = work()
        self.tape, self.recorded = None, tape
        result.fill_(float("nan"))  # a capture records the work and does not run it
        return tape.replay, result

    def exact(self, x):
        return torch.tanh(x.double() @ self.weight.double() + self.bias.double())


class Cold(Model):
    cold_calls = 3


class Counting(Model):
    """Scales by the number of the call, which Python counts: a graph repeats the recorded factor."""

    def __call__(self, x):
        return super().__call__(x) * float(self.calls)


def built(answer, random, kind=Model):
    model = kind(random)
    example = tensor(random, 3, 6)
    return model, example, answer.GraphedStep(model, example, model.capture)


def case_values(answer, random):
    """Three inputs: the values of the plain step"""
    model, _, step = built(answer, random)
    for _ in range(3):
        x = tensor(random, 3, 6)
        expect_close(step(x.clone()), model.exact(x), **CLOSE)


def case_two_results(answer, random):
    """A result is still the same after the next call"""
    model, _, step = built(answer, random)
    first, second = tensor(random, 3, 6), tensor(random, 3, 6)
    kept, _ = step(first), step(second)
    expect_close(kept, model.exact(first), **CLOSE)


def case_example(answer, random):
    """The caller's tensors are not changed, and may change"""
    model, example, step = built(answer, random)
    before = example.clone()
    x = tensor(random, 3, 6)
    copy = x.clone()
    step(x)
    expect_close(example, before, what="the example")
    expect_close(x, copy, what="the input")
    example.fill_(7.0)
    expect_close(step(x), model.exact(copy), **CLOSE)


def case_cold(answer, random):
    """The model is called at least 3 times before the capture"""
    built(answer, random, Cold)


def case_counter(answer, random):
    """A model that counts its calls in Python is refused with a RuntimeError"""
    try:
        built(answer, random, Counting)
    except RuntimeError:
        return
    expect(False, "no error, although the graph repeats the factor of one call")


def case_replays(answer, random):
    """Each call is one replay, and the model is not called again"""
    model, _, step = built(answer, random)
    calls, replays = model.calls, model.recorded.replays
    step(tensor(random, 3, 6))
    expect(model.calls == calls, "the model was called")
    expect(model.recorded.replays == replays + 1, f"{model.recorded.replays - replays} replays, expected 1")
