"""Compiles the package's HIP kernels for an AMD GPU as a launch there would, and executes them on CPU tensors."""

from __future__ import annotations

import struct
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import Tensor

from hipward_kernels.compile.package_kernels import hip_listing
from hipward_kernels.dispatch import tuning
from hipward_kernels.emulate.program import Report, kernel_name, run
from hipward_kernels.emulate.tiers import ops_with, use_tier
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.ops import hip_launch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from hipward_kernels.jit.kernel import Kernel

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
"""Dtypes that the HIP kernels take."""


@contextmanager
def hip_on(arch: str) -> Iterator[list[Report]]:
    """Executes the package's HIP kernels on the machine code of `arch`, for CPU tensors in this process.

    Kernels get addresses. Within the block, `Tensor.data_ptr` records which tensor each address belongs to.

    Yields:
        The reports of the launches, in their order.
    """
    reports: list[Report] = []
    tensors: dict[int, Tensor] = {}
    data_ptr = Tensor.data_ptr

    def recorded(x: Tensor) -> int:
        address = data_ptr(x)
        tensors[address] = x
        return address

    def launch_of(launches: hip_launch.Launches, _device: int, threads: int, **macros: object) -> Any:
        kernel: Kernel = launches._kernel  # noqa: SLF001 - the seam between ops and GPU
        listing = _listing(arch, kernel.file, tuple(macros.items()))

        def launch(blocks: int, *arguments: float) -> None:
            passed = [
                # A null pointer is a number.
                tensors[int(argument)]
                if letter == "P" and argument
                else struct.pack(f"<{'Q' if letter == 'P' else letter}", argument)
                for letter, argument in zip(kernel.signature, arguments, strict=True)
            ]
            report = run(listing, passed, (blocks, 1, 1), (threads, 1, 1), kernel=kernel.entry)
            reports.append(replace(report, kernel=kernel_name(kernel.file, kernel.entry)))
            tensors.clear()

        return launch

    with ExitStack() as stack:
        patch = mock.patch.object
        stack.enter_context(patch(Tensor, "data_ptr", recorded))
        stack.enter_context(patch(hip_launch.Launches, "get", launch_of))
        for op in ops_with("hip"):
            tiers = tuple(
                replace(tier, refuses_tensor=_refuses) if tier.name == "hip" else tier
                for tier in op._tiers  # noqa: SLF001
            )
            stack.enter_context(patch(op, "_tiers", tiers))
            use_tier(op, "hip", stack)
        for module in _modules():
            if hasattr(module, "get_gfx"):
                stack.enter_context(patch(module, "get_gfx", lambda *_: arch))
        _forget_launches()
        stack.callback(_forget_launches)
        yield reports


def _modules() -> list[ModuleType]:
    """The modules with HIP kernels."""
    names = [
        name
        for name in sys.modules
        if name.startswith("hipward_kernels.") and name.endswith(".hip") and name != __name__
    ]
    return [sys.modules[name] for name in names]


def _forget_launches() -> None:
    """Empties the caches of launches."""
    tuning.generation += 1
    for module in _modules():
        for function in vars(module).values():
            # One of them is not cached by that number.
            if hasattr(function, "cache_clear") and function.__module__ == module.__name__:
                function.cache_clear()


def _refuses(x: Tensor) -> str | None:
    return None if x.dtype in DTYPES else f"the HIP kernels do not take {x.dtype}"


@lru_cache(maxsize=256)
def _listing(arch: str, file: Path, macros: tuple[tuple[str, object], ...]) -> str:
    """Compiles a source, with the lines of the source."""
    wave = {"WAVE": wavefront_of(arch)}
    return hip_listing(arch, file, {**wave, **dict(macros)}, "-gline-tables-only")
