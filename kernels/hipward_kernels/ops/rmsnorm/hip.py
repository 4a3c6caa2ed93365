"""RMSNorm in HIP, forward only: where a gradient is wanted, the next tier is asked. The kernel is in `hip.hip`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hipward_kernels import tuning
from hipward_kernels.arch import get_gfx, wave_of
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.hip_launch import NAMES, VECTOR_BYTES, Launches, aligned, at_least_as_wide, whole_vectors
from hipward_kernels.ops.launch import as_rows, next_power_of_two

LAUNCHES = Launches(Kernel(Path(__file__).with_name("hip.hip"), "forward", "PPPPPqqqif"))

ROW_THREADS = 512
"""Most threads of a row: with more, a block leaves no room for a second one to load while the first computes."""

BLOCK_THREADS = 128
"""Least threads of a block, where a row needs fewer."""

MOST_VECTORS = 16
"""Of a thread: 64 of its registers, which is all that 512 threads can have without spilling."""


@dataclass(frozen=True)
class Plan:
    """How a row is shared out."""

    row_threads: int
    rows: int
    """Of a block."""
    vectors: int
    """Of a thread."""

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.row_threads * self.rows


def plan(columns: int, itemsize: int, wave: int, parameters: dict[str, int] | None = None) -> Plan | None:
    """The launch for rows of a length, or None where a row does not fit into registers.

    Two vectors a thread, as long as there are threads; `parameters` of the tuned table replace what they name.
    """
    vectors = -(-columns // (VECTOR_BYTES // itemsize))
    chosen = {"row_threads": min(max(next_power_of_two(vectors) // 2, 1), ROW_THREADS), **(parameters or {})}
    row_threads = chosen["row_threads"]
    of_thread = next_power_of_two(-(-vectors // row_threads))
    if of_thread > MOST_VECTORS:
        return None
    rows = chosen.get("rows", max(BLOCK_THREADS // row_threads, 1))
    if row_threads > wave and rows > 1 and row_threads * rows > 1024:
        return None
    return Plan(row_threads, rows, of_thread)


@lru_cache(maxsize=4096)
def plan_for(op: str, device: int, dtype: torch.dtype, rows: int, columns: int) -> Plan | None:
    """The plan for a device, by the tuned table where it has the shape."""
    arch = get_gfx(device)
    choice = tuning.choice(arch, op, dtype, rows, columns)
    parameters = choice.numbers() if choice is not None and choice.tier == "hip" else None
    return plan(columns, dtype.itemsize, wave_of(arch), parameters)


def forward(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float) -> Any:
    """RMSNorm of `x`, or of `x + residual`, and what was normalized; `NotImplemented` where vectors do not fit."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    total = x if residual is None else torch.empty_like(y)
    if not y.numel():
        return y, total
    x = as_rows(x)
    more = x if residual is None else as_rows(residual)
    scale = x if weight is None else weight
    rows, columns = x.shape
    x_stride, more_stride = x.stride(0), more.stride(0)
    fits = (
        whole_vectors(x.itemsize, columns, x_stride, more_stride)
        and aligned(x, more, scale)
        and at_least_as_wide(scale.dtype, x.dtype)
        and (weight is None or weight.is_contiguous())
    )
    if not fits:
        return NotImplemented
    device = x.get_device()
    found = plan_for(op, device, x.dtype, rows, columns)
    if found is None:
        return NotImplemented
    launch = LAUNCHES.get(
        device,
        found.threads,
        T=NAMES[x.dtype],
        W=NAMES[scale.dtype],
        ROW_THREADS=found.row_threads,
        ROWS=found.rows,
        VECTORS=found.vectors,
        ADD=int(residual is not None),
        HAS_WEIGHT=int(weight is not None),
    )
    addresses = (x.data_ptr(), more.data_ptr(), scale.data_ptr(), y.data_ptr(), total.data_ptr())
    launch(-(-rows // found.rows), *addresses, rows, x_stride, more_stride, columns, eps)
    return y, total


def rmsnorm(x: Tensor, weight: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.rmsnorm`."""
    if torch.is_grad_enabled() and (x.requires_grad or (weight is not None and weight.requires_grad)):
        return NotImplemented
    result = forward("rmsnorm", x, None, weight, eps)
    return result if result is NotImplemented else result[0]
