"""The checks are called with products and models of which some are wrong."""

import torch
from hipward_kernels.exercise import expect, tensor
from torch import nn


def verdict(answer, product, name, expected):
    got = answer.accepts(product)
    word = {True: "accepted", False: "refused"}
    expect(bool(got) == expected, f"{name} is {word[bool(got)]}, expected: {word[expected]}")


def case_right(answer, random):
    """A right product is accepted"""
    torch.manual_seed(random.randrange(2**31))
    verdict(answer, torch.matmul, "torch.matmul", True)
    verdict(answer, lambda a, b: (a.float() @ b.float()).bfloat16(), "a float32 product, rounded", True)


def case_zeros(answer, random):
    """A product of zeros is refused, and so is one with NaN"""
    torch.manual_seed(random.randrange(2**31))
    verdict(answer, lambda a, b: torch.zeros_like(a @ b), "a matrix of zeros", False)
    verdict(answer, lambda a, b: (a @ b) * float("nan"), "a matrix of NaN", False)


def case_transposed(answer, random):
    """A transposed product is refused"""
    torch.manual_seed(random.randrange(2**31))

    def transposed(a, b):
        return (a @ b).T.reshape(a.shape[0], b.shape[1])

    verdict(answer, transposed, "the transposed product", False)


def case_eight_bits(answer, random):
    """A product of inputs rounded to 8 bits is refused"""
    torch.manual_seed(random.randrange(2**31))
    # e4m3 has 4 bits of precision: the relative error is near 0.04, bfloat16's is near 0.002.
    small = torch.float8_e4m3fn

    def rounded(a, b):
        return a.to(small).bfloat16() @ b.to(small).bfloat16()

    verdict(answer, rounded, "a product in 8 bits", False)


class Cut(nn.Module):
    """Two layers; the path to the first one can be cut, or its gradient made infinite."""

    def __init__(self, width, fault=None):
        super().__init__()
        self.first, self.second, self.fault = nn.Linear(width, width), nn.Linear(width, 3), fault

    def forward(self, x):
        y = self.first(x)
        if self.fault == "cut":
            y = y.detach()
        if self.fault == "infinite":
            y.register_hook(lambda gradient: gradient / 0)
        return self.second(y)


def model_of(random, fault=None):
    width = random.choice([1, 7, 9, 33])
    torch.manual_seed(random.randrange(2**31))
    return Cut(width, fault), tensor(random, 5, width)


def same(got, expected):
    expect(sorted(got) == expected, f"got {sorted(got)}, expected {expected}")


def case_complete(answer, random):
    """A model in which every parameter gets a gradient passes"""
    same(answer.without_gradient(*model_of(random)), [])


def case_missing(answer, random):
    """Parameters that get no gradient are named"""
    same(answer.without_gradient(*model_of(random, "cut")), ["first.bias", "first.weight"])


def case_not_finite(answer, random):
    """Parameters with an infinite gradient are named"""
    same(answer.without_gradient(*model_of(random, "infinite")), ["first.bias", "first.weight"])


def case_stale(answer, random):
    """A gradient of an earlier step does not count"""
    model, x = model_of(random, "cut")
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    same(answer.without_gradient(model, x), ["first.bias", "first.weight"])
