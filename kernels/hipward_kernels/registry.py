"""Chooses which implementation of an op runs, and says why the others cannot.

A *tier* is a way to implement ops, such as Triton. An op's implementation for a tier is the function
of the op's name in the module `<op's package>.<tier's name>`. Tiers are tried fastest first; the last,
`eager`, runs everywhere. Nothing about a particular op belongs here.

Two environment variables, read when this module is imported, switch tiers off:

* `USE_OPTIMIZED_OPS=0`: only `eager`.
* `HIPWARD_DISABLE=triton`: the named tiers, separated by commas.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch import Tensor

EAGER = "eager"


def _triton_refuses_process() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return None
    if not torch.cuda.is_available():
        return "Triton needs a GPU; this job runs on the CPU"
    return None


def _triton_refuses_tensor(x: Tensor) -> str | None:
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return f"the Triton kernels compute in float32, which is not enough for {x.dtype}"
    if not x.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        return "Triton needs a GPU; this tensor is on the CPU"
    return None


@dataclass(frozen=True)
class Tier:
    """One way to implement ops."""

    name: str
    refuses_process: Callable[[], str | None]
    """Why no op can use this tier in this process, or None."""
    refuses_tensor: Callable[[Tensor], str | None]
    """Why an op cannot use this tier for this input, or None."""


TIERS: Mapping[str, Tier] = {
    "triton": Tier("triton", _triton_refuses_process, _triton_refuses_tensor),
    EAGER: Tier(EAGER, lambda: None, lambda _: None),
}
"""Every tier, fastest first."""


ROUTES = frozenset({"aiter", "sdpa", "tunable"})
"""Ways to run attention and matrix products that are no tiers of an op, but are switched off by the same means."""


def disabled_by(environment: Mapping[str, str]) -> frozenset[str]:
    """The tiers that these environment variables switch off."""
    optimized = frozenset(TIERS) - {EAGER}
    if environment.get("USE_OPTIMIZED_OPS") == "0":
        return optimized
    optimized |= ROUTES
    named = {name.strip() for name in environment.get("HIPWARD_DISABLE", "").split(",")} - {""}
    if unknown := named - optimized:
        raise ValueError(
            f"HIPWARD_DISABLE names {', '.join(sorted(unknown))}; "
            f"tiers that can be switched off: {', '.join(sorted(optimized))}"
        )
    return frozenset(named)


_disabled = disabled_by(os.environ)


@contextmanager
def disabled(*tiers: str) -> Iterator[None]:
    """Switches tiers off within a `with` block, for the whole process."""
    global _disabled  # noqa: PLW0603 - a process-wide switch is what this is
    before = _disabled
    _disabled = before | frozenset(tiers)
    try:
        yield
    finally:
        _disabled = before


def is_disabled(name: str) -> bool:
    """Whether a tier or route is switched off at the moment."""
    return name in _disabled


class Op:
    """An operator with an implementation for each of some tiers."""

    def __init__(self, package: str, name: str, tiers: tuple[str, ...]) -> None:
        self.name = name
        self._tiers = tuple(TIERS[tier] for tier in tiers)
        # A tier that this process cannot use is not imported: its compiler may not be installed.
        self._refused = {tier.name: reason for tier in self._tiers if (reason := tier.refuses_process())}
        self._functions: dict[str, Callable[..., Tensor]] = {
            tier.name: getattr(importlib.import_module(f"{package}.{tier.name}"), name)
            for tier in self._tiers
            if tier.name not in self._refused
        }

    def refusal(self, tier: Tier, x: Tensor) -> str | None:
        """Why this op cannot use `tier` for the input `x`, or None when it can."""
        if tier.name in _disabled:
            return f"{tier.name} is switched off"
        return self._refused.get(tier.name) or tier.refuses_tensor(x)

    def refusals(self, x: Tensor) -> dict[str, str | None]:
        """For each tier, fastest first: why it cannot run for the input `x`, or None."""
        return {tier.name: self.refusal(tier, x) for tier in self._tiers}

    def function(self, x: Tensor) -> Callable[..., Tensor]:
        """The implementation that runs for the input `x`."""
        for tier in self._tiers:
            if self.refusal(tier, x) is None:
                return self._functions[tier.name]
        raise RuntimeError(f"no implementation of {self.name} is switched on")
