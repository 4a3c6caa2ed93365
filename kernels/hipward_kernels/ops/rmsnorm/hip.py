"""RMSNorm in HIP, forward only: where a gradient is wanted, the next tier is asked. The kernel is in `hip.hip`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels import tuning
from hipward_kernels.arch import get_gfx
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.hip_launch import NAMES, VECTOR_BYTES, Launches, at_least_as_wide, whole_vectors
from hipward_kernels.ops.launch import as_rows

if TYPE_CHECKING:
    from hipward_kernels.jit.driver import Launch

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


def plan(columns: int, itemsize: int, inputs: int, parameters: dict[str, int] | None = None) -> Plan | None:
    """The launch for rows of a length, or None where a row of each input does not fit into registers.

    Two vectors a thread, as long as there are threads; `parameters` of the tuned table replace what they name.
    """
    vectors = -(-columns // (VECTOR_BYTES // itemsize))
    # The power of two below, so that few threads of a row that is no power of two are idle.
    threads = min(max((1 << vectors.bit_length() - 1) // 2, 1), ROW_THREADS)
    chosen = {"row_threads": threads, **(parameters or {})}
    row_threads = chosen["row_threads"]
    of_thread = -(-vectors // row_threads)
    if of_thread * inputs > MOST_VECTORS:
        return None
    rows = chosen.get("rows", max(BLOCK_THREADS // row_threads, 1))
    return Plan(row_threads, rows, of_thread)


@dataclass(frozen=True)
class Ready:
    """What is worked out once for a form of arguments."""

    launch: Launch
    blocks: int


@lru_cache(maxsize=4096)
def ready(
    _generation: int,
    op: str,
    device: int,
    dtype: torch.dtype,
    scale: torch.dtype | None,
    rows: int,
    columns: int,
    *strides: int,
) -> Ready | None:
    """The launch for rows of `dtype` and a weight of `scale`, or None where 16-byte vectors do not fit them."""
    if not whole_vectors(dtype.itemsize, columns, *strides) or not (scale is None or at_least_as_wide(scale, dtype)):
        return None
    add = op == "add_rmsnorm"
    choice = tuning.choice(get_gfx(device), op, dtype, rows, columns)
    parameters = choice.numbers() if choice is not None and choice.tier == "hip" else None
    found = plan(columns, dtype.itemsize, 1 + add, parameters)
    if found is None:
        return None
    launch = LAUNCHES.get(
        device,
        found.threads,
        T=NAMES[dtype],
        W=NAMES[scale or dtype],
        ROW_THREADS=found.row_threads,
        ROWS=found.rows,
        VECTORS=found.vectors,
        ADD=int(add),
        HAS_WEIGHT=int(scale is not None),
    )
    return Ready(launch, -(-rows // found.rows))


def forward(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float) -> Any:
    """RMSNorm of `x`, or of `x + residual`, and what was normalized; `NotImplemented` where vectors do not fit."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    total = x if residual is None else torch.empty_like(y)
    if not y.numel():
        return y, total
    x = as_rows(x)
    more = x if residual is None else as_rows(residual)
    rows, columns = x.shape
    x_stride, more_stride = x.stride(0), more.stride(0)
    scale = None
    x_address = scale_address = x.data_ptr()
    if weight is not None:
        weight = weight.contiguous()
        scale, scale_address = weight.dtype, weight.data_ptr()
    found = ready(tuning.generation, op, x.get_device(), x.dtype, scale, rows, columns, x_stride, more_stride)
    more_address = more.data_ptr()
    if found is None or (x_address | more_address | scale_address) % VECTOR_BYTES:
        return NotImplemented
    addresses = (x_address, more_address, scale_address, y.data_ptr(), total.data_ptr())
    found.launch(found.blocks, *addresses, rows, x_stride, more_stride, columns, eps)
    return y, total


def rmsnorm(x: Tensor, weight: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.rmsnorm`."""
    if torch.is_grad_enabled() and (x.requires_grad or (weight is not None and weight.requires_grad)):
        return NotImplemented
    result = forward("rmsnorm", x, None, weight, eps)
    return result if result is NotImplemented else result[0]
