"""Softmax in HIP, forward and backward; the kernels are in `hip.hip`.

The threads of one block, or of a cluster of blocks if the GPU has clusters, have a row in registers. Longer rows are
left to the next tier.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.dispatch import tuning
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.jit.grid import most_blocks
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import NAMES, Launches, aligned, readable_rows, whole_vectors
from hipward_kernels.ops.launch import as_rows, contiguous_like
from hipward_kernels.ops.row_plan import Plan, cluster_for, most_vectors, nvidia_row, plan
from hipward_kernels.ops.softmax.autograd import function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hipward_kernels.jit.driver import Launch

_FILE = Path(__file__).with_name("hip.hip")
_FORWARD = Launches(Kernel(_FILE, "forward", "PPqqi"))
_BACKWARD = Launches(Kernel(_FILE, "backward", "PPPqqi"))

MOST_VECTORS = 8
"""Most vectors of a thread and input: the row, and its exponentials or its gradient in float32, are in registers."""


def row_plan(arch: str, rows: int, columns: int, itemsize: int, inputs: int) -> Plan | None:
    """The launch of the forward (one input) or of the backward (two), or None if a row is too long."""
    measured = nvidia_row(arch, "softmax" if inputs == 1 else "softmax backward", rows, columns, itemsize)
    if measured is not None:
        return measured[0]
    most = min(MOST_VECTORS, most_vectors(arch, inputs))
    return plan(columns, itemsize, most, cluster_for(arch, columns, itemsize), {})


@lru_cache(maxsize=4096)
def ready(
    _generation: int,
    backward: bool,
    device: int,
    dtype: torch.dtype,
    rows: int,
    columns: int,
    stride: int,
) -> tuple[Launch, int] | None:
    """The launch and its blocks; None if vectors do not fit or there are too many rows."""
    if not whole_vectors(dtype.itemsize, columns, stride):
        return None
    found = row_plan(get_gfx(device), rows, columns, dtype.itemsize, 2 if backward else 1)
    if found is None:
        return None
    blocks = -(-rows // found.rows) * found.cluster
    if blocks > most_blocks(found.threads):
        return None
    launches = _BACKWARD if backward else _FORWARD
    return launches.get(device, found.threads, T=NAMES[dtype], **found.macros()), blocks


def forward(x: Tensor) -> Any:
    """The softmax without autograd; `NotImplemented` if vectors do not fit."""
    y = contiguous_like(x)
    if not y.numel():
        return y
    x = as_rows(x)
    rows, columns = x.shape
    found = ready(tuning.generation, False, x.get_device(), x.dtype, rows, columns, x.stride(0))
    address = x.data_ptr()
    if found is None or address % 16:
        return NotImplemented
    launch, blocks = found
    launch(blocks, address, y.data_ptr(), rows, x.stride(0), columns)
    return y


def backward(dy: Tensor, y: Tensor) -> Tensor:
    """The gradient of `x`. The shape must satisfy `differentiable`."""
    dx = torch.empty_like(y)
    if not dx.numel():
        return dx
    dy, y = readable_rows(dy), as_rows(y)
    rows, columns = y.shape
    found = ready(tuning.generation, True, y.get_device(), y.dtype, rows, columns, dy.stride(0))
    if found is None:
        raise RuntimeError(f"the HIP backward of softmax does not take rows of {columns} {y.dtype}")
    launch, blocks = found
    launch(blocks, dy.data_ptr(), y.data_ptr(), dx.data_ptr(), rows, dy.stride(0), columns)
    return dx


def differentiable(x: Tensor) -> bool:
    """Whether forward and backward support this argument."""
    if not x.numel():
        return True
    rows = as_rows(x)
    form = (x.get_device(), x.dtype, *rows.shape)
    return (
        aligned(rows)
        and ready(tuning.generation, False, *form, rows.stride(0)) is not None
        and ready(tuning.generation, True, *form, rows.shape[1]) is not None
    )


def _for_training(backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
    """Selects the kernels for `training.cpp`."""
    generation, _, _, device, dtype_number, _, rows, columns, stride, *_ = form
    dtype = training.DTYPES.get(dtype_number)
    found = None if dtype is None else ready(generation, backward, device, dtype, rows, columns, stride)
    return None if found is None else (found[0].handle, found[1], found[0].threads)


training.register("softmax", _for_training)
trained = function(forward, backward)


def softmax(x: Tensor) -> Any:
    """See `hipward_kernels.ops.softmax`."""
    if trains(x):
        y = training.run("softmax", x, tuning.generation)
        if y is not None:
            return y
        return trained(x) if differentiable(x) else NotImplemented
    return forward(x)
