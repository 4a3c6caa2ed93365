"""Shared code for launches of HIP kernels: names of dtypes, alignment for 16-byte vectors, and kernels by their macros.

The functions that compute launch sizes are pure, as in `launch.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.ops.launch import as_rows

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.jit.driver import Launch
    from hipward_kernels.jit.kernel import Kernel

NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
"""Names of dtypes in the HIP sources."""

VECTOR_BYTES = 16

MOST_VECTORS = 2**31 - 1
"""Most vectors of a launch: the kernels count them in 32 bits. With a thread for each vector, that many threads are
below the limits of both vendors (`jit/grid.py`)."""


def aligned(*tensors: Tensor) -> bool:
    """Whether each tensor begins at a multiple of 16 bytes."""
    addresses = 0
    for x in tensors:
        addresses |= x.data_ptr()
    return addresses % VECTOR_BYTES == 0


def whole_vectors(itemsize: int, *counts: int) -> bool:
    """Whether sizes and strides, in elements, are multiples of a 16-byte vector."""
    size = VECTOR_BYTES // itemsize
    return all(count % size == 0 for count in counts)


def readable_rows(gradient: Tensor) -> Tensor:
    """The rows of a gradient; a copy if it is a view that vectors cannot read."""
    rows = as_rows(gradient)
    if aligned(rows) and whole_vectors(rows.itemsize, rows.stride(0)):
        return rows
    return rows.clone(memory_format=torch.contiguous_format)


def at_least_as_wide(dtype: torch.dtype, than: torch.dtype) -> bool:
    """Whether a source can read tensors of `dtype` together with those of `than`: the same dtype, or float32."""
    return dtype is than or dtype is torch.float32


class Launches:
    """Launches of a kernel, one for each device and set of macros, built at first use."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._loaded: dict[tuple[Any, ...], Launch] = {}

    def get(self, device: int, threads: int, **macros: object) -> Launch:
        """The launch with blocks of `threads` threads. `WAVE` is added to the macros."""
        key = (device, threads, *macros.values())
        found = self._loaded.get(key)
        if found is None:
            wave = wavefront_of(get_gfx(device))
            found = self._loaded[key] = self._kernel.load(device, threads, {"WAVE": wave, **macros})
        return found
