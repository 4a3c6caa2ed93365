"""Detects that a snippet changes Model's instance while other variants run: hooks, weights, attributes, its functions.

A change would make eager slower, or give it other results. What eager changes by itself, such as a counter, is found by
the calls of its preparation, and not watched.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as modules

from hipward_kernels.numerics.distance import split

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_forward_hooks_always_called",
    "_global_forward_hooks_with_kwargs",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_buffer_registration_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

_PLAIN = (bool, int, float, complex, str, bytes, type(None), FunctionType)
"""Types of attributes that are watched."""


class ModelSeals:
    """A record of one model and of the snippet's functions."""

    def __init__(self, model: nn.Module, snippet: ModuleType) -> None:
        self._model = model
        self._modules = list(model.modules())
        self._snippet = snippet
        self._hooks = _hooks(self._modules)
        self._functions = {
            name: (value, value.__code__, value.__defaults__)
            for name, value in vars(snippet).items()
            if isinstance(value, FunctionType)
        }
        self._classes = {name: value for name, value in vars(snippet).items() if isinstance(value, type)}
        self._attributes = _attributes(self._modules)
        self._versions = _versions(model)
        self._sums = _sums(model)

    def settle(self) -> None:
        """Stops watching what has changed since the construction: call it when only eager has run."""
        now = _attributes(self._modules)
        self._attributes = {key: value for key, value in self._attributes.items() if _same(now.get(key, self), value)}
        versions, sums = _versions(self._model), _sums(self._model)
        self._versions = {name: value for name, value in self._versions.items() if versions.get(name) == value}
        self._sums = {name: value for name, value in self._sums.items() if sums.get(name) == value}
        self._hooks = _hooks(self._modules)

    def broken(self) -> str | None:
        """What was changed, or None."""
        return next(self._changed(), None)

    def weights_broken(self) -> str | None:
        """The name of a weight whose contents were changed, or None. Reads all weights."""
        sums = _sums(self._model)
        changed = (name for name, value in self._sums.items() if sums.get(name) != value)
        return next((f"the weight {name} of Model" for name in changed), None)

    def _changed(self) -> Iterator[str]:
        if _hooks(self._modules) != self._hooks:
            yield "what runs before or after Model, with a hook"
        yield from self._attributes_changed()
        versions = _versions(self._model)
        yield from (f"the weight {name} of Model" for name, at in self._versions.items() if versions.get(name) != at)
        names = vars(self._snippet)
        for name, (function, code, defaults) in self._functions.items():
            changed = function.__code__ is not code or function.__defaults__ is not defaults
            if names.get(name) is not function or changed:
                yield f"its own function {name}"
        yield from (f"its own class {name}" for name, kind in self._classes.items() if names.get(name) is not kind)

    def _attributes_changed(self) -> Iterator[str]:
        now = _attributes(self._modules)
        for key, value in self._attributes.items():
            if not _same(now.get(key, self), value):
                yield f"the attribute {key[1]} of Model"
        if any(name == "forward" for _, name in now.keys() - self._attributes.keys()):
            yield "the attribute forward of Model"


def _hooks(of: list[nn.Module]) -> list[tuple[int, ...]]:
    every = [getattr(modules, name, {}) for name in _GLOBAL_HOOKS]
    every += [getattr(module, name, {}) for module in of for name in _HOOKS]
    return [tuple(id(hook) for hook in hooks.values()) for hooks in every if hooks]


def _attributes(of: list[nn.Module]) -> dict[tuple[int, str], Any]:
    return {
        (index, name): value
        for index, module in enumerate(of)
        for name, value in vars(module).items()
        if isinstance(value, _PLAIN) or name == "forward"
    }


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first is second or first == second or first != first)  # noqa: PLR0124


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


def _versions(model: nn.Module) -> dict[str, tuple[int, int]]:
    return {
        name: (x.data_ptr() if x.layout == torch.strided else 0, x._version)  # noqa: SLF001 - no public name
        for name, x in _tensors(model)
        if not x.is_inference()
    }


@torch.no_grad()
def _sums(model: nn.Module) -> dict[str, float]:
    """A sum of each tensor's contents."""
    sums = {}
    for name, x in _tensors(model):
        if x.layout != torch.strided or x.is_complex() or not x.numel():
            continue
        flat = x.detach().reshape(-1)
        # Halves with different weights, so that exchanged elements are noticed.
        half = (flat.numel() + 1) // 2
        sums[name] = _sum(flat[:half]) + 3.7 * _sum(flat[half:])
    return sums


def _sum(flat: Tensor) -> float:
    # In chunks, because a processor sums a copy in float64.
    return sum(float(part.sum(dtype=torch.float64)) for part in split(flat))
