"""The sum of a weight's partial gradients, which the blocks of a backward store; the kernel is in `parts.hip`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.hip_launch import NAMES, Launches

if TYPE_CHECKING:
    import torch

    from hipward_kernels.jit.driver import Launch

_ADD = Launches(Kernel(Path(__file__).with_name("parts.hip"), "add_parts", "PPqi"))

PARTS_THREADS = 256
"""Threads of a block that adds the partial gradients of the weight."""

PARTS_ACROSS = 8
"""Vectors of four columns that such a block adds: together a read of 128 bytes, the length of a cache line."""


def launch_of(device: int, weight: torch.dtype, columns: int) -> tuple[Launch, int]:
    """The launch that adds parts of `columns` columns into a weight's gradient, and its blocks."""
    return _ADD.get(device, PARTS_THREADS, W=NAMES[weight], **macros()), -(-columns // (4 * PARTS_ACROSS))


def macros() -> dict[str, int]:
    """Macros of the kernel."""
    return {"THREADS": PARTS_THREADS, "ACROSS": PARTS_ACROSS}
