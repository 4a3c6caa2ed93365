"""Detects that a snippet has replaced functions that the harness uses to measure and compare.

A snippet shares the harness's process, so it can replace `torch.isfinite` or a clock. Before it is imported, all
functions of the modules that the harness uses are recorded; afterwards, and after each turn, they must be the same
objects. For modules of this package, class members, code of functions and constants are recorded too. Once Model is
built, its class and PyTorch's process-wide settings are recorded, because a change would affect eager.

Model itself is recorded too (`model_seals.py`), and so are the objects of the timing (`object_seals.py`). A call's time
outside of its sample is compared with eager's (`race.py`). Calls that return objects of other code are refused
(`object_search.py`). Not detected, and still possible in one process: code in C that changes other objects of the
harness or this record in place, or writes to its pipe with the job's nonce; the runner marks results of snippets with
such code. Where that slows eager, a measurement without ModelNew shows it (`model_alone.py`). Further
protection comes from outside: the runner computes all statistics, stores raw samples, bounds each figure by the
roofline and by the elapsed time, and shows the code beside the result.
"""

from __future__ import annotations

import builtins
import gc
import itertools
import json
import math
import os
import random
import secrets
import statistics
import sys
import threading
import time
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.harness.lines import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MODULES = (
    *("builtins", "gc", "json", "math", "os", "random", "secrets", "statistics", "sys", "threading", "time"),
    *("torch", "torch.cuda", "torch.nn.functional", "torch.random", "torch.autograd", "torch.autograd.grad_mode"),
    *("torch.special", "torch.linalg", "torch.fft", "torch._C._nn", "torch._C._special", "torch._C._linalg"),
)
CLASSES = ("Tensor", "nn.Module", "nn.Parameter", "cuda.Event", "cuda.Stream", "no_grad")

PYTORCHS_OWN = {
    "torch.manual_seed",
    "torch.nn.Module.__init__",
    "torch.nn.Module.__setstate__",
    # 2.11 and 2.15 have different names for the same mark.
    "torch.nn.Module.___needs_generation_tag_patch",
    "torch.nn.Module.___has_generation_tag_patch",
}
"""Functions that `torch.compile` replaces at its first use. The harness calls none of them by name."""

_TINY = torch.tensor(1e-310, dtype=torch.float64)
"""A denormal number."""

OPERATORS = (
    *("aten::add.Tensor", "aten::add_.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::abs", "aten::abs_"),
    *("aten::dot", "aten::mm", "aten::max", "aten::maximum", "aten::sum", "aten::equal", "aten::any", "aten::clone"),
    "aten::copy_",
)
"""Operators that the comparison of results uses; an implementation that Python registers would replace them."""

MODELS_OPERATORS = 4
"""Of the operators that Model runs, so many are looked at in each check, chosen at random, and all in the last one: a
look takes 0.4 ms."""


def _reader(name: str) -> Callable[[], Any]:
    """A function of PyTorch that reads a setting for which there is no public name; versions differ in these."""
    found: Callable[[], Any] = getattr(torch._C, name, lambda: None)  # noqa: SLF001
    return found


SETTINGS: dict[str, Callable[[], Any]] = {
    "number of threads": torch.get_num_threads,
    "default dtype": torch.get_default_dtype,
    "precision of matrix products": torch.get_float32_matmul_precision,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "cudnn.enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
    "mkldnn": _reader("_get_mkldnn_enabled"),
    "flash attention": torch.backends.cuda.flash_sdp_enabled,
    "memory-efficient attention": torch.backends.cuda.mem_efficient_sdp_enabled,
    "attention as a formula": torch.backends.cuda.math_sdp_enabled,
    "cudnn attention": torch.backends.cuda.cudnn_sdp_enabled,
    "sums of float16 products": _reader("_get_cublas_allow_fp16_reduced_precision_reduction"),
    "sums of bfloat16 products": _reader("_get_cublas_allow_bf16_reduced_precision_reduction"),
    "library of matrix products": _reader("_get_blas_preferred_backend"),
    "library of linear algebra": _reader("_get_linalg_preferred_backend"),
    "flushing of denormal numbers": lambda: not bool((_TINY * 1.0).item()),
    "gradients": torch.is_grad_enabled,
    "current stream": lambda: torch.cuda.current_stream() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
}
"""Process-wide settings that affect results or times."""

_IMPORTED = (builtins, gc, json, math, os, random, secrets, statistics, sys, threading, time)


def tampered(replaced: str) -> Failure:
    """The failure of a job whose snippet has replaced something that measures it."""
    return Failure(
        "tampered",
        f"The snippet replaced {replaced}, so measurements in this process are not reliable.",
        "Call your own version from ModelNew, and do not replace functions of Python or PyTorch.",
    )


class Seals:
    """A record of functions, classes and settings at the time of construction."""

    def __init__(self) -> None:
        names = [*MODULES, *(name for name in sys.modules if name.startswith("hipward_kernels."))]
        self._modules = {name: sys.modules[name] for name in names if isinstance(sys.modules.get(name), ModuleType)}
        self._names = {
            name: {key: value for key, value in vars(module).items() if _is_code(value)}
            for name, module in self._modules.items()
        }
        self._classes = {f"torch.{path}": _resolve(path) for path in CLASSES}
        self._members = {name: dict(vars(kind)) for name, kind in self._classes.items()}
        self._ours = {path: value for _, path, value in _ours()}
        self._model: list[tuple[type, dict[str, Any]]] = []
        self._settings: dict[str, Any] = {}
        self._operators = _operators(OPERATORS)
        self._models_operators: dict[str, str] = {}
        self._modes = _modes()
        self._tracing = (sys.gettrace(), sys.getprofile())
        # A snippet cannot predict its numbers.
        self._sample = random.SystemRandom().sample

    def note_model(self, model: torch.nn.Module) -> None:
        """Records the classes of Model and its modules, and the current settings."""
        kinds = {kind: None for module in model.modules() for kind in type(module).__mro__}
        own = [each for each in kinds if each not in torch.nn.Module.__mro__]
        self._model = [(each, _methods(each)) for each in own]
        self._settings = {name: read() for name, read in SETTINGS.items()}

    def note_operators(self, names: Iterable[str]) -> None:
        """Records the operators that Model runs."""
        self._models_operators = _operators([name for name in names if name.startswith("aten::")])

    def broken(self, *, everything: bool = False) -> str | None:
        """The name of a replaced object, or None. With `everything`, all operators of Model are looked at."""
        names = list(self._models_operators)
        if not everything and len(names) > MODELS_OPERATORS:
            names = self._sample(names, MODELS_OPERATORS)
        operators = self._operators | {name: self._models_operators[name] for name in names}
        return next(
            itertools.chain(self._names_broken(), self._classes_broken(), self._all_broken(operators)),
            None,
        )

    def _names_broken(self) -> Iterator[str]:
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                yield f"the module {name}"
            now = vars(module)
            for key, value in self._names[name].items():
                if now.get(key) is not value and f"{name}.{key}" not in PYTORCHS_OWN:
                    yield f"{name}.{key}"
        ours = {path: value for name, path, value in _ours() if name in self._modules}
        for path in self._ours | ours:
            before, after = self._ours.get(path, self), ours.get(path, self)
            if before is not after and before != after:
                yield path

    def _classes_broken(self) -> Iterator[str]:
        for name, kind in self._classes.items():
            before, members = self._members[name], vars(kind)
            for key in before | dict(members):
                if before.get(key) is not members.get(key) and f"{name}.{key}" not in PYTORCHS_OWN:
                    yield f"{name}.{key}"
        for kind, methods in self._model:
            if _methods(kind) != methods:
                yield f"methods of {kind.__name__}"

    def _all_broken(self, operators: dict[str, str]) -> Iterator[str]:
        for name, setting in self._settings.items():
            if SETTINGS[name]() != setting:
                yield f"PyTorch's setting for all, {name}"
        for name, implementations in _operators(operators).items():
            if implementations != operators[name]:
                yield f"PyTorch's operator {name}"
        if _modes() != self._modes:
            yield "PyTorch's dispatch, with a mode that it left on"
        if (sys.gettrace(), sys.getprofile()) != self._tracing:
            yield "the interpreter's tracing, with a function of its own"


def _methods(kind: type) -> dict[str, Any]:
    """Methods of a class, without data and attributes that PyTorch sets."""
    methods = (FunctionType, property, classmethod, staticmethod)
    return {key: value for key, value in vars(kind).items() if isinstance(value, methods)}


def _ours() -> Iterator[tuple[str, str, Any]]:
    """Members of classes, code of functions and constants of this package's modules.

    Yields:
        The module's name, the object's name, and the object.
    """
    for name, module in list(sys.modules.items()):
        if not name.startswith("hipward_kernels."):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__ == name:
                yield from _code(name, f"{name}.{key}", value)
            elif isinstance(value, type) and value.__module__ == name:
                for member, inner in list(vars(value).items()):
                    if isinstance(inner, FunctionType):
                        yield name, f"{name}.{key}.{member}", inner
                        yield from _code(name, f"{name}.{key}.{member}", inner)
            elif key.isupper() and isinstance(value, (int, float, str, tuple, frozenset)):
                yield name, f"{name}.{key}", value


def _code(module: str, path: str, function: FunctionType) -> Iterator[tuple[str, str, Any]]:
    yield module, f"{path}.__code__", function.__code__
    yield module, f"{path}.__defaults__", function.__defaults__
    yield module, f"{path}.__kwdefaults__", function.__kwdefaults__


def _is_code(value: object) -> bool:
    """Whether a value is a function, class or module; data may change."""
    return callable(value) or isinstance(value, ModuleType)


def _resolve(path: str) -> type:
    found: object = torch
    for part in path.split("."):
        found = getattr(found, part)
    assert isinstance(found, type)  # noqa: S101 - the table above names classes
    return found


def _operators(names: Iterable[str]) -> dict[str, str]:
    """The registered implementations of each operator."""
    return {name: "\n".join(_kernels(torch._C._dispatch_dump(name))) for name in names}  # noqa: SLF001


def _kernels(dump: str) -> Iterator[str]:
    """The lines of a dispatcher's dump about kernels that compute results."""
    keys = ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA", "CompositeExplicit", "CompositeImplicit")
    return (line for line in dump.splitlines() if line.startswith(keys))


def _modes() -> tuple[int, int]:
    functions = torch._C._len_torch_function_stack()  # noqa: SLF001 - PyTorch has no public name for these
    return functions, torch._C._len_torch_dispatch_stack()  # noqa: SLF001
