"""The replacements are compared with the definitions; the import is tried with three stand-in libraries."""

import importlib.abc
import importlib.machinery
import inspect
import sys

import torch
from hipward_kernels.exercise import expect, expect_close, tensor


def case_norm(answer, random):
    """The norm is RMSNorm with an eps of 1e-5, also for small values"""
    width = random.choice([1, 7, 31, 33, 129])
    norm = answer.make_norm(width)
    for scale in (1.0, 1e-3):  # 1e-3 squared is 1e-6: eps decides the result
        x = tensor(random, 5, width) * scale + 0.25 * scale
        wide = x.double()
        expected = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        # float32: a sum of at most 129 squares and one rsqrt; eps 1e-6 instead of 1e-5 gives 0.5 and more
        expect_close(norm(x), expected, atol=1e-5, rtol=1e-4)
    weights = [parameter for parameter in norm.parameters() if parameter.shape == (width,)]
    expect(len(weights) == 1, f"the norm has {len(weights)} parameters of shape ({width},), expected 1")


def adam(weight, gradients, lr, betas, eps, weight_decay, **others):
    """Three steps of AdamW in float64. Arguments such as `fused` do not change the result."""
    weight, m, v = weight.double(), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        gradient = gradient.double()
        m = betas[0] * m + (1 - betas[0]) * gradient
        v = betas[1] * v + (1 - betas[1]) * gradient.square()
        weight = weight * (1 - lr * weight_decay)
        unbiased = v / (1 - betas[1] ** step)
        weight = weight - lr * (m / (1 - betas[0] ** step)) / (unbiased.sqrt() + eps)
    return weight


def case_optimizer(answer, random):
    """Three steps with these arguments are those of FusedAdam"""
    lr = random.choice([0.1, 0.01])
    weight, gradients = tensor(random, 9) * 10, [tensor(random, 9) for _ in range(3)]
    expected = adam(weight, gradients, lr, (0.9, 0.999), 1e-8, 0.0)
    arguments = answer.optimizer_arguments(lr)
    expect(isinstance(arguments, dict), f"got {arguments!r}, expected a dictionary")
    given = inspect.signature(torch.optim.AdamW).bind([weight], **arguments)
    given.apply_defaults()
    given.arguments.pop("params")
    # both sides are float64; a decay of 0.01 changes values near 10 by 0.001 and more
    expect_close(adam(weight, gradients, **given.arguments), expected, atol=1e-9, rtol=1e-9)


class Library(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module of that name; importing it raises the error, if there is one."""

    def __init__(self, name, error=None):
        self.name, self.error = name, error

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == self.name else None

    def exec_module(self, module):
        if self.error:
            raise self.error

    def __enter__(self):
        sys.meta_path.insert(0, self)

    def __exit__(self, *exception):
        sys.meta_path.remove(self)
        sys.modules.pop(self.name, None)


def name_of(random):
    return f"vendor_library_{random.randrange(10**6)}"


def case_present(answer, random):
    """An installed library is returned"""
    name = name_of(random)
    with Library(name):
        got = answer.optional(name)
    expect(getattr(got, "__name__", None) == name, f"got {got!r}, expected the module {name}")


def case_missing(answer, random):
    """A missing library, or one that needs a missing library, gives None"""
    name = name_of(random)
    got = answer.optional(name)
    expect(got is None, f"{name} is not installed: got {got!r}, expected None")
    error = ImportError("libcudart.so.13: cannot open shared object file")
    with Library(name, error):
        got = answer.optional(name)
    expect(got is None, f"the import raised {error!r}: got {got!r}, expected None")


def case_bug(answer, random):
    """An error that is not an ImportError is not hidden"""
    name = name_of(random)
    error = AttributeError("module 'torch' has no attribute 'float7'")
    with Library(name, error):
        try:
            got = answer.optional(name)
        except AttributeError:
            return
    expect(False, f"the import raised {error!r}, and optional() returned {got!r}")
