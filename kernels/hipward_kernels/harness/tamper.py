"""Notices that a snippet has replaced what the harness measures and compares with.

A snippet shares the harness's process, so it can replace `torch.isfinite` or a clock. Before it is imported, every
function of the modules that the harness uses is noted; afterwards, and after each turn, they must be the same objects.

What this cannot see, and what stays possible in one process: code that finds the harness's own objects through frames,
`gc` or `ctypes` and changes them in place, or writes to its pipe with the job's secret. Running the timing loop in
another process would not help: the calls that are timed must run where the snippet is. What helps is outside: the
runner computes all statistics, keeps raw samples, bounds each figure by the roofline and by the time that really
passed, and shows the code beside the result.
"""

from __future__ import annotations

import builtins
import gc
import json
import math
import os
import random
import secrets
import statistics
import sys
import threading
import time
from types import ModuleType

import torch

MODULES = (
    *("builtins", "gc", "json", "math", "os", "random", "secrets", "statistics", "sys", "threading", "time"),
    *("torch", "torch.cuda", "torch.nn.functional", "torch.random", "torch.autograd", "torch.autograd.grad_mode"),
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
"""Replaced by `torch.compile` when it is first used. The harness calls none of these by name."""

_IMPORTED = (builtins, gc, json, math, os, random, secrets, statistics, sys, threading, time)


class Seals:
    """What functions and classes were when this was made."""

    def __init__(self) -> None:
        names = [*MODULES, *(name for name in sys.modules if name.startswith("hipward_kernels."))]
        self._modules = {name: sys.modules[name] for name in names if isinstance(sys.modules.get(name), ModuleType)}
        self._names = {
            name: {key: value for key, value in vars(module).items() if _is_code(value)}
            for name, module in self._modules.items()
        }
        self._classes = {f"torch.{path}": _resolve(path) for path in CLASSES}
        self._members = {name: dict(vars(kind)) for name, kind in self._classes.items()}
        self._modes = _modes()
        self._tracing = (sys.gettrace(), sys.getprofile())

    def broken(self) -> str | None:
        """What was replaced, as a reader would write it, or None."""
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                return f"the module {name}"
            now = vars(module)
            for key, value in self._names[name].items():
                if now.get(key) is not value and f"{name}.{key}" not in PYTORCHS_OWN:
                    return f"{name}.{key}"
        for name, kind in self._classes.items():
            before, members = self._members[name], vars(kind)
            for key in before.keys() | members.keys():
                if before.get(key) is not members.get(key) and f"{name}.{key}" not in PYTORCHS_OWN:
                    return f"{name}.{key}"
        if _modes() != self._modes:
            return "PyTorch's dispatch, with a mode that it left on"
        if (sys.gettrace(), sys.getprofile()) != self._tracing:
            return "the interpreter's tracing, with a function of its own"
        return None


def _is_code(value: object) -> bool:
    """Functions, classes and modules; not data, which changes by right."""
    return callable(value) or isinstance(value, ModuleType)


def _resolve(path: str) -> type:
    found: object = torch
    for part in path.split("."):
        found = getattr(found, part)
    assert isinstance(found, type)  # noqa: S101 - the table above names classes
    return found


def _modes() -> tuple[int, int]:
    functions = torch._C._len_torch_function_stack()  # noqa: SLF001 - PyTorch has no public name for these
    return functions, torch._C._len_torch_dispatch_stack()  # noqa: SLF001
