"""What the launches of row-wise Triton kernels share: views of rows, block sizes, warps.

No kernels here. The functions are pure, so that compiling for a GPU that is not there uses the very
numbers that a launch on it would use.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

COLUMN_BLOCK = 4096
"""Columns handled at a time where a program does not hold a whole row."""

ELEMENTS_PER_THREAD = 16
"""Two 16-byte loads of bfloat16 a thread. More threads than that would narrow the loads."""

MAX_THREADS = 1024

WARP_SIZE = 64 if torch.version.hip else 32
"""Threads of a warp: 64 on AMD Instinct, 32 on NVIDIA. It sizes launches; no result depends on it."""


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least `n`, for n >= 1."""
    return 1 << (n - 1).bit_length()


def row_block(columns: int, limit: int) -> int:
    """Columns that a program handles at a time: the whole row up to `limit` columns."""
    return next_power_of_two(columns) if columns <= limit else COLUMN_BLOCK


def warps(block: int, warp_size: int) -> int:
    """Warps (AMD: wavefronts) for `block` elements: as many threads as keep loads 16 bytes wide."""
    threads = min(max(block // ELEMENTS_PER_THREAD, warp_size), MAX_THREADS)
    return threads // warp_size


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def compute_units(device_index: int) -> int:
    """Compute units (NVIDIA: streaming multiprocessors) of a GPU; a few for the CPU, whose index is -1."""
    return torch.cuda.get_device_properties(device_index).multi_processor_count if device_index >= 0 else 4


def as_rows(x: Tensor) -> Tensor:
    """`x` as a matrix of its last dimension's rows: a view where strides allow, else a copy. Not for empty tensors.

    The columns of the result are contiguous; its rows may be any distance apart.
    """
    rows = x.reshape(-1, x.shape[-1]) if x.dim() else x.reshape(1, 1)
    return rows if rows.stride(1) == 1 or rows.shape[1] == 1 else rows.contiguous()


def launch_device(x: Tensor) -> AbstractContextManager[object]:
    """Makes the device of `x` current: Triton launches on the current one, wherever its tensors are."""
    if torch.compiler.is_compiling() or not x.is_cuda or x.get_device() == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(x.device)
