"""Outputs and gradients of the module in Triton's interpreter, compared with float64, and the test of a model."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch import nn

EPS = 1e-6
# Sums of up to 65 float32 products of values up to about 10: some hundred units of 1.2e-7.
CLOSE = {"atol": 3e-5, "rtol": 3e-5}


def norm_of(answer, random, columns):
    """The learner's module with a random weight."""
    norm = answer.RMSNorm(columns)
    with torch.no_grad():
        norm.weight.copy_(tensor(random, columns))
    return norm


def exact(x, weight):
    """The norm in float64."""
    x, weight = x.double(), weight.double()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight


def gradients(answer, random, rows, columns):
    """The learner's gradients of x and weight, and those in float64."""
    norm, x, dy = norm_of(answer, random, columns), tensor(random, rows, columns), tensor(random, rows, columns)
    exact_x = x.double().requires_grad_()
    exact_weight = norm.weight.detach().double().requires_grad_()
    want = torch.autograd.grad(exact(exact_x, exact_weight), (exact_x, exact_weight), dy.double())
    x.requires_grad_()
    y = norm(x)
    expect(y.requires_grad, "the output has no history: autograd did not record the launch")
    got = torch.autograd.grad(y, (x, norm.weight), dy, allow_unused=True)
    for name, gradient in zip(("x", "weight"), got, strict=True):
        expect(gradient is not None, f"no gradient reaches {name}")
    return got, want


def case_output(answer, random):
    """The output for 5 rows of 7 columns"""
    norm, x = norm_of(answer, random, 7), tensor(random, 5, 7)
    with torch.no_grad():
        expect_close(norm(x), exact(x, norm.weight), **CLOSE)


def case_dx(answer, random):
    """The gradient of x, for 3 rows of 8 columns"""
    got, want = gradients(answer, random, 3, 8)
    expect_close(got[0], want[0], **CLOSE)


def case_dweight(answer, random):
    """The gradient of the weight, for 19 rows in 3 programs"""
    got, want = gradients(answer, random, 19, 9)
    expect_close(got[1], want[1], **CLOSE)


def case_sum(answer, random):
    """The gradient of `norm(x).sum()`, whose dy is one value with strides of 0"""
    norm, x = norm_of(answer, random, 8), tensor(random, 4, 8)
    exact_x = x.double().requires_grad_()
    want = torch.autograd.grad(exact(exact_x, norm.weight.detach()).sum(), exact_x)
    x.requires_grad_()
    y = norm(x)
    expect(y.requires_grad, "the output has no history: autograd did not record the launch")
    expect_close(torch.autograd.grad(y.sum(), x)[0], want[0], **CLOSE)


class Recorder:
    """Stands in for a kernel and counts its launches."""

    def __init__(self, kernel):
        self.kernel, self.launches = kernel, 0

    def __getitem__(self, grid):
        self.launches += 1
        return self.kernel[grid]


def case_kernels(answer, random):
    """Forward and backward are one launch of each kernel"""
    names = ("rmsnorm_kernel", "rmsnorm_backward_kernel")
    kernels = {name: getattr(answer, name) for name in names}
    recorders = {name: Recorder(kernel) for name, kernel in kernels.items()}
    vars(answer).update(recorders)
    try:
        gradients(answer, random, 3, 5)
    finally:
        vars(answer).update(kernels)
    for name, recorder in recorders.items():
        expect(recorder.launches == 1, f"{recorder.launches} launches of `{name}`, expected 1")


class Plain(nn.Module):
    """RMSNorm in PyTorch, with or without a history of its output."""

    def __init__(self, width, cut):
        super().__init__()
        self.weight, self.cut = nn.Parameter(torch.ones(width)), cut

    def forward(self, x):
        y = exact(x, self.weight).float()
        return y.detach() if self.cut else y


def model_of(norms):
    """Layers with a norm before each, all of width 6."""
    return nn.Sequential(*(layer for norm in norms for layer in (norm, nn.Linear(6, 6))))


def check_names(answer, random, model, expected):
    got = answer.without_gradient(model, model(tensor(random, 4, 6)).square().mean())
    expect(list(got) == expected, f"got {list(got)}, expected {expected}")


def case_names(answer, random):
    """`without_gradient` finds every parameter before a norm without history"""
    model = model_of([Plain(6, cut=False), Plain(6, cut=True), Plain(6, cut=False)])
    check_names(answer, random, model, ["0.weight", "1.weight", "1.bias", "2.weight"])


def case_frozen(answer, random):
    """`without_gradient` leaves out parameters that need no gradient"""
    model = model_of([Plain(6, cut=False), Plain(6, cut=False)])
    model[1].requires_grad_(False)
    check_names(answer, random, model, [])


def case_model(answer, random):
    """In a model with your norms, `without_gradient` finds nothing"""
    check_names(answer, random, model_of([norm_of(answer, random, 6) for _ in range(3)]), [])
