"""Selects the implementation of an op, and reports why the others cannot run.

A *tier* is a way to implement ops, such as Triton. An op's implementation for a tier is the function with the op's name
in the module `<op's package>.<tier's name>`. Tiers are tried in order of speed, or in the order of the tuned table
(`tuning.py`) for the shape; the last one, `eager`, runs everywhere. An implementation that does not support its
arguments returns `NotImplemented`, and the next tier is tried. The next tier is also tried after a failure of the tier
itself (`tier_failure.py`); that is safe because an implementation writes only to tensors that it allocated. This module
contains nothing about a particular op.

`HIPWARD_DISABLE=hip,triton`, read when this module is imported, disables the named tiers. `USE_OPTIMIZED_OPS` does not
affect tiers: it enables a step of `rewrite/steps.py`, and is off by default.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import is_fake

from hipward_kernels.dispatch import tuning
from hipward_kernels.dispatch.cache import DispatchCache
from hipward_kernels.dispatch.tier_failure import MISSING_ERRORS, failure
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.jit.driver import driver
from hipward_kernels.jit.libraries import BuildError
from hipward_kernels.jit.toolchain import toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from torch import Tensor

    from hipward_kernels.dispatch.tier_failure import Failure

log = logging.getLogger(__name__)

_compiling = torch.compiler.is_compiling

EAGER = "eager"


def _interpreting() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def _triton_refuses_process() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if _interpreting():
        return None
    if not torch.cuda.is_available():
        return "Triton needs a GPU; this job runs on the CPU"
    return None


def _triton_refuses_tensor(x: Tensor) -> str | None:
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return f"the Triton kernels compute in float32, which is not enough for {x.dtype}"
    if not x.is_cuda and not _interpreting():
        return "Triton needs a GPU; this tensor is on the CPU"
    return None


def _hip_refuses_process() -> str | None:
    if not torch.cuda.is_available():
        return "HIP kernels need a GPU; this job runs on the CPU"
    try:
        toolchain()
        driver()
    except BuildError as error:
        return str(error)
    return None


def _hip_refuses_tensor(x: Tensor) -> str | None:
    if torch.compiler.is_compiling():
        return "torch.compile traces into Triton kernels, but not into HIP kernels"
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return f"the HIP kernels compute in float32, which is not enough for {x.dtype}"
    if not x.is_cuda:
        return "HIP kernels need a GPU; this tensor is on the CPU"
    return None


@dataclass(frozen=True)
class Tier:
    """A way to implement ops."""

    name: str
    refuses_process: Callable[[], str | None]
    """Why no op can use this tier in this process, or None."""
    refuses_tensor: Callable[[Tensor], str | None]
    """Why an op cannot use this tier for this input, or None."""


TIERS: Mapping[str, Tier] = {
    "hip": Tier("hip", _hip_refuses_process, _hip_refuses_tensor),
    "triton": Tier("triton", _triton_refuses_process, _triton_refuses_tensor),
    EAGER: Tier(EAGER, lambda: None, lambda _: None),
}
"""Every tier, in order of speed."""

ROUTES = frozenset({"aiter", "sdpa", "lt", "native"})
"""Routes of attention and matrix products, and the compiled training steps of `ops/training.py` (`native`). They are
not tiers, but can be disabled in the same way."""


def disabled_by(environment: Mapping[str, str]) -> frozenset[str]:
    """The tiers and routes that environment variables disable."""
    optimized = (frozenset(TIERS) - {EAGER}) | ROUTES
    named = {name.strip() for name in environment.get("HIPWARD_DISABLE", "").split(",")} - {""}
    if unknown := named - optimized:
        raise ValueError(
            f"HIPWARD_DISABLE names {', '.join(sorted(unknown))}; these can be disabled: {', '.join(sorted(optimized))}"
        )
    return frozenset(named)


_disabled = disabled_by(os.environ)


@contextmanager
def disabled(*names: str) -> Iterator[None]:
    """Disables tiers or routes within a `with` block, for the whole process."""
    global _disabled  # noqa: PLW0603 - a process-wide switch is what this is
    before = _disabled
    _disabled = before | frozenset(names)
    try:
        yield
    finally:
        _disabled = before


@contextmanager
def only(tier: str) -> Iterator[None]:
    """Disables every tier except one within a `with` block."""
    with disabled(*(name for name in TIERS if name != tier)):
        yield


def is_disabled(name: str) -> bool:
    """Whether a tier or route is disabled now."""
    return name in _disabled


def all_disabled() -> frozenset[str]:
    """The tiers and routes that are disabled now."""
    return _disabled


_ops: dict[str, Op] = {}
_whole = False


@contextmanager
def whole() -> Iterator[None]:
    """Makes TorchDynamo capture each op as one call within a `with` block, for graphs that run without a compiler.

    A compiler has to see the kernels of an op. Without a compiler, captured Triton kernels would be launched by
    Triton's slow path at each call, and HIP kernels could not be captured.
    """
    global _whole  # noqa: PLW0603 - a process-wide switch is what this is
    before, _whole = _whole, True
    try:
        yield
    finally:
        _whole = before


def op_of(name: str) -> Op:
    """The op of that name."""
    return _ops[name]


def run_whole(name: str, x: Tensor, *rest: Any) -> Any:
    """Runs the op of that name as one call of a graph; TorchDynamo must not trace into it.

    In a graph that is compiled, it becomes the operator of `ops/custom.py`.
    """
    return _operator(name)(x, *rest) if is_fake(x) else _ops[name](x, *rest)


def _operator(name: str) -> Callable[..., Any]:
    """The op as an operator of PyTorch; its definition if it has none."""
    found: Callable[..., Any] = getattr(torch.ops.hipward, name, _ops[name].definition)
    return found


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _stays_whole(name: str, device: int, dtype: str, columns: int) -> bool:
    """Whether compiled code has an op as an operator, for rows of this length.

    That is so if the HIP tier runs here, and if the tuned table has it for such rows or there is no Triton. Otherwise
    compilers trace into the Triton kernel, which costs less of the host's time for a call.
    """
    op = _ops[name]
    runs = "hip" in op._functions and not is_disabled("hip")  # noqa: SLF001
    if not runs or device < 0 or dtype not in ("torch.float32", "torch.bfloat16", "torch.float16"):
        return False
    if "triton" not in op._functions or is_disabled("triton"):  # noqa: SLF001
        return True
    return tuning.has_tier(get_gfx(device), name, dtype.removeprefix("torch."), columns, "hip")


def distinct(*arguments: Any) -> list[Any]:
    """The arguments, with a view in place of a tensor that was there before.

    TorchDynamo does not support an autograd function that gets a tensor twice: PyTorch 2.11 computes a wrong gradient,
    later ones raise an exception.
    """
    found: list[Any] = []
    for argument in arguments:
        twice = isinstance(argument, torch.Tensor) and any(argument is earlier for earlier in found)
        found.append(argument.view_as(argument) if twice else argument)
    return found


class Op:
    """An op with implementations for some tiers. A call runs the first implementation that supports the arguments."""

    def __init__(self, package: str, name: str, tiers: tuple[str, ...]) -> None:
        self.name = name
        self._tiers = tuple(TIERS[tier] for tier in tiers)
        # A tier that this process cannot use is not imported, because its compiler may not be installed.
        self._refused = {tier.name: reason for tier in self._tiers if (reason := tier.refuses_process())}
        self._functions: dict[str, Callable[..., Any]] = {}
        for tier in self._tiers:
            if tier.name in self._refused:
                continue
            try:
                self._functions[tier.name] = getattr(importlib.import_module(f"{package}.{tier.name}"), name)
            except MISSING_ERRORS as error:
                if tier.name == EAGER:
                    raise
                log.warning("%s runs without its %s kernels: %s", name, tier.name, error)
                self._refused[tier.name] = f"{type(error).__name__}: {error}"
        self.definition = self._functions[EAGER]
        _ops[name] = self
        self._chosen: DispatchCache[tuple[tuple[str, Callable[..., Any]], ...]] = DispatchCache()

    def __call__(self, x: Tensor, *rest: Any) -> Any:
        """Runs the op. Device and dtype of `x` decide which tier runs."""
        if _compiling():
            if _whole:
                return run_whole(self.name, x, *rest)
            if x.dim() and _stays_whole(self.name, x.get_device(), str(x.dtype), int(x.shape[-1])):
                return _operator(self.name)(x, *rest)
            return self.function(x)(*distinct(x, *rest))
        trains = x.requires_grad and torch.is_grad_enabled()
        key = (x.dtype, x.shape, x.get_device(), trains, _disabled, tuning.generation)
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = self._choose(x, key, trains=trains)
        for tier, function in chosen:
            try:
                result = function(x, *rest)
            except Exception as error:
                found = failure(error)
                if found is None:
                    raise
                self._give_up(tier, found, key)
                continue
            if result is not NotImplemented:
                return result
        raise self._nothing_left()

    def module(self, tier: str) -> ModuleType:
        """The module of a tier that this process can use."""
        return importlib.import_module(self.definition.__module__.removesuffix(EAGER) + tier)

    def refusal(self, tier: Tier, x: Tensor) -> str | None:
        """Why this op cannot use `tier` for the input `x`, or None if it can."""
        if tier.name in _disabled:
            return f"{tier.name} is disabled"
        return self._refused.get(tier.name) or tier.refuses_tensor(x)

    def refusals(self, x: Tensor) -> dict[str, str | None]:
        """For each tier, in order of speed: why it cannot run for the input `x`, or None."""
        return {tier.name: self.refusal(tier, x) for tier in self._tiers}

    def function(self, x: Tensor) -> Callable[..., Any]:
        """The implementation that is tried first for the input `x`."""
        for tier in self._tiers:
            if self.refusal(tier, x) is None:
                return self._functions[tier.name]
        raise self._nothing_left()

    def _choose(self, x: Tensor, key: Any, *, trains: bool) -> tuple[tuple[str, Callable[..., Any]], ...]:
        """The implementations to try for `x`, in order; cached under `key`.

        The tuned table is measured without gradients. A training step also needs the backward and the host's time, for
        which the default order is the faster one.
        """
        usable = [tier.name for tier in self._tiers if self.refusal(tier, x) is None]
        columns = x.shape[-1] if x.dim() else 1
        rows = x.numel() // max(columns, 1)
        choice = None if trains else tuning.choice(get_gfx(x.get_device()), self.name, x.dtype, rows, columns)
        if choice is not None and choice.tier in usable:
            usable.sort(key=lambda tier: tier != choice.tier)
        elif choice is not None and choice.tier not in TIERS:
            known = ", ".join(TIERS)
            log.warning("%s: the tuned table has the unknown tier %r; the tiers are %s", self.name, choice.tier, known)
        log.info(
            "%s of %s %s on %s: %s (%s)",
            self.name,
            "x".join(map(str, x.shape)),
            x.dtype,
            x.device,
            " → ".join(usable),
            f"tuned: {choice.source}" if choice is not None else "no tuned choice",
        )
        return self._chosen.store(key, tuple((tier, self._functions[tier]) for tier in usable))

    def _give_up(self, tier: str, found: Failure, key: Any) -> None:
        """Stops trying a tier that failed, for all inputs or for inputs like these, and logs a warning once."""
        if found.always:
            log.warning("%s runs without its %s kernels: %s", self.name, tier, found.reason)
            self._refused[tier] = found.reason
            self._chosen.clear()
        else:
            log.warning("%s runs without its %s kernels for inputs like these: %s", self.name, tier, found.reason)
            others = tuple((name, call) for name, call in self._chosen.get(key, ()) if name != tier)
            self._chosen.store(key, others)

    def _nothing_left(self) -> RuntimeError:
        return RuntimeError(f"every implementation of {self.name} is disabled")
