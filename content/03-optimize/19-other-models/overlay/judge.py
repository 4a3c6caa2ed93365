"""A small library whose layer is replaced and restored."""

import types

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch import nn

SUPPORTED = ((4, 53), (6, 0))
PARAMETERS = ("self", "x", "scale")


def library(version="4.57.1"):
    """A new library for each case, so that nothing of an earlier one is left."""
    module = types.ModuleType("library")
    module.__version__ = version

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x, scale=1.0):
            return x * self.weight * scale

    module.Layer = Layer
    return module


def replacement(original):
    def forward(self, x, scale=1.0):
        return original(self, x, scale) + 1

    return forward


def overlay(answer, module, parameters=PARAMETERS):
    return answer.patched(module, module.Layer, "forward", replacement, SUPPORTED, parameters)


def case_replaced(answer, random):
    """In the block, models that exist already use the replacement"""
    module = library()
    layer, x = module.Layer(), tensor(random, 2, 3)
    with overlay(answer, module):
        expect_close(layer(x), 2 * x.double() + 1, atol=1e-6)
        expect(list(layer.state_dict()) == ["weight"], "the state dict changed")


def case_original(answer, random):
    """The replacement receives the original, with its arguments"""
    module = library()
    layer, x = module.Layer(), tensor(random, 2, 3)
    with overlay(answer, module):
        expect_close(layer(x, scale=4.0), 8 * x.double() + 1, atol=1e-5)


def case_restored(answer, random):
    """After the block, the original is back"""
    module = library()
    before = module.Layer.forward
    with overlay(answer, module):
        pass
    expect(module.Layer.forward is before, "the original method is not restored")


def case_error(answer, random):
    """Also after an error in the block"""
    module = library()
    before = module.Layer.forward
    inside = before
    try:
        with overlay(answer, module):
            inside = module.Layer.forward
            raise KeyError("an error of the model")
    except KeyError:
        pass
    expect(inside is not before, "the method was not replaced in the block")
    expect(module.Layer.forward is before, "the original method is not restored")


def refused(answer, module, parameters=PARAMETERS):
    before = module.Layer.forward
    try:
        with overlay(answer, module, parameters):
            return False
    except answer.OverlayError:
        expect(module.Layer.forward is before, "the method was changed, although the library is refused")
        return True


def case_version(answer, random):
    """Versions from 4.53 up to 6.0, without it"""
    for version in ("4.53.0", "4.100.2", "5.0.0", "5.12.1"):
        expect(not refused(answer, library(version)), f"version {version} is refused")
    for version in ("4.9.3", "4.52.4", "3.60.0", "6.0.0", "10.1.0"):
        expect(refused(answer, library(version)), f"version {version} is not refused")


def case_signature(answer, random):
    """Other parameters are refused"""
    for parameters in (("self", "x"), ("self", "scale", "x"), ("self", "x", "mask"), ("self", "x", "mask", "scale")):
        expect(refused(answer, library(), parameters), f"(self, x, scale) is accepted for {parameters}")
