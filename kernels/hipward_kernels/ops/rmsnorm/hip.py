"""RMSNorm in HIP, forward and backward; the kernels are in `hip.hip` and `backward.hip`.

The threads of one block, or of a cluster of blocks if the GPU has clusters, have a row in registers. Longer rows are
left to the next tier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.dispatch import tuning
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.jit.grid import most_blocks
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import parts as partial_gradients
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import (
    NAMES,
    VECTOR_BYTES,
    Launches,
    aligned,
    at_least_as_wide,
    readable_rows,
    whole_vectors,
)
from hipward_kernels.ops.launch import as_rows, compute_units, contiguous_like
from hipward_kernels.ops.rmsnorm.autograd import functions
from hipward_kernels.ops.row_plan import (
    BACKWARD_VECTORS,
    Plan,
    backward_teams,
    cluster_for,
    most_vectors,
    nvidia_backward,
    nvidia_row,
    plan,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.jit.driver import Launch

_FORWARD = Launches(Kernel(Path(__file__).with_name("hip.hip"), "forward", "PPPPPqqqiff"))
_BACKWARD = Launches(Kernel(Path(__file__).with_name("backward.hip"), "backward", "PPPPPPqqqqqiff"))

PRELOADED_VECTORS = 8
"""Vectors of a thread, of all inputs and the weight, up to which all are loaded at once."""

TOGETHER_THREADS = 256
"""Threads of a block up to which the weight is in registers together with the row. With more threads, no second block
fits, which costs 20 % on an H200."""


def forward_plan(
    arch: str, rows: int, columns: int, itemsize: int, inputs: int, chosen: Mapping[str, int]
) -> tuple[Plan, dict[str, int]] | None:
    """The launch of the forward, and its macros."""
    op = "rmsnorm" if inputs == 1 else "add_rmsnorm"
    measured = None if chosen else nvidia_row(arch, op, rows, columns, itemsize)
    if measured is not None:
        found, preload = measured[0], int(measured[1])
    else:
        of_plan = plan(columns, itemsize, most_vectors(arch, inputs), cluster_for(arch, columns, itemsize), chosen)
        if of_plan is None:
            return None
        found, preload = of_plan, 0
        if found.vectors * (inputs + 1) <= PRELOADED_VECTORS:
            preload = 2 if found.threads <= TOGETHER_THREADS else 1
    how = {
        "PRELOAD": chosen.get("preload", preload),
        "ONCE": chosen.get("once", 0),
        "STREAM": chosen.get("stream", 0),
    }
    return found, {**found.macros(), **how, "ADD": inputs - 1}


def backward_plan(op: str, arch: str, columns: int, itemsize: int) -> Plan | None:
    """The launch of the backward."""
    if not arch.startswith("sm_"):
        return plan(columns, itemsize, BACKWARD_VECTORS, 1, {})
    return nvidia_backward(arch, op, columns, itemsize)


@dataclass(frozen=True)
class Ready:
    """A prepared launch, cached for arguments of one form."""

    launch: Launch
    blocks: int
    over_columns: float
    step: int = 0
    """Distance between the rows of a block, in the backward: also the number of partial gradients of the weight."""
    parts: Launch | None = None
    """Adds the partial gradients of the weight."""
    parts_blocks: int = 0


def _fits(dtype: torch.dtype, scale: torch.dtype | None, columns: int, *strides: int) -> bool:
    return whole_vectors(dtype.itemsize, columns, *strides) and (scale is None or at_least_as_wide(scale, dtype))


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
    """The launch for rows of `dtype` and a weight of `scale`; None if vectors do not fit or there are too many rows."""
    if not _fits(dtype, scale, columns, *strides):
        return None
    arch = get_gfx(device)
    choice = tuning.choice(arch, op, dtype, rows, columns)
    chosen = choice.numbers() if choice is not None and choice.tier == "hip" else {}
    found = forward_plan(arch, rows, columns, dtype.itemsize, 2 if op == "add_rmsnorm" else 1, chosen)
    if found is None:
        return None
    shape, macros = found
    blocks = -(-rows // shape.rows) * shape.cluster
    if blocks > most_blocks(shape.threads):
        return None
    names = {"T": NAMES[dtype], "W": NAMES[scale or dtype], "HAS_WEIGHT": int(scale is not None)}
    launch = _FORWARD.get(device, shape.threads, **names, **macros)
    return Ready(launch, blocks, 1 / columns)


@lru_cache(maxsize=4096)
def ready_backward(
    add: bool, device: int, dtype: torch.dtype, scale: torch.dtype | None, rows: int, columns: int
) -> Ready | None:
    """The same for the backward, which has `step` partial gradients of the weight."""
    arch = get_gfx(device)
    op = "add_rmsnorm" if add else "rmsnorm"
    found = backward_plan(op, arch, columns, dtype.itemsize) if _fits(dtype, scale, columns) else None
    if found is None:
        return None
    macros = {**found.macros(), "ADD": int(add), "HAS_WEIGHT": int(scale is not None)}
    launch = _BACKWARD.get(device, found.threads, T=NAMES[dtype], W=NAMES[scale or dtype], **macros)
    teams = backward_teams(arch, found, rows, compute_units(device))
    blocks, step = teams * found.cluster, teams * found.rows
    if scale is None:
        return Ready(launch, blocks, 1 / columns, step)
    return Ready(launch, blocks, 1 / columns, step, *partial_gradients.launch_of(device, scale, columns))


def _prepare(op: str) -> Callable[[bool, Sequence[int]], tuple[int, ...] | None]:
    """The function that selects an op's kernels for `training.cpp`."""

    def prepare(backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
        generation, _, _, device, dtype_number, scale_number, rows, columns, x_stride, more_stride, *_ = form
        dtype, scale = training.DTYPES.get(dtype_number), training.DTYPES.get(scale_number)
        if dtype is None or (scale is None and scale_number >= 0):
            return None
        if not backward:
            found = ready(generation, op, device, dtype, scale, rows, columns, x_stride, more_stride)
            return None if found is None else (found.launch.handle, found.blocks, found.launch.threads)
        found = ready_backward(op == "add_rmsnorm", device, dtype, scale, rows, columns)
        if found is None:
            return None
        numbers = (found.launch.handle, found.blocks, found.launch.threads, found.step)
        return (*numbers, found.parts.handle, found.parts_blocks, found.parts.threads) if found.parts else numbers

    return prepare


for _op in ("rmsnorm", "add_rmsnorm"):
    training.register(_op, _prepare(_op))


def forward(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float) -> Any:
    """RMSNorm of `x`, or of `x + residual`, and the normalized input; `NotImplemented` if vectors do not fit."""
    y = contiguous_like(x)
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
    found.launch(found.blocks, *addresses, rows, x_stride, more_stride, columns, found.over_columns, eps)
    return y, total


def backward(
    dy: Tensor, dtotal: Tensor | None, x: Tensor, weight: Tensor | None, eps: float
) -> tuple[Tensor, Tensor | None]:
    """Gradients of the normalized input `x` and of the weight; `dtotal` is added to the first.

    The arguments must satisfy `differentiable`.
    """
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not dx.numel():
        return dx, None if weight is None else torch.zeros_like(weight)
    x, dy = as_rows(x), readable_rows(dy)
    more = x if dtotal is None else readable_rows(dtotal)
    rows, columns = x.shape
    weight = None if weight is None else weight.contiguous()
    scale = None if weight is None else weight.dtype
    found = ready_backward(dtotal is not None, x.get_device(), x.dtype, scale, rows, columns)
    if found is None:
        raise RuntimeError(f"the HIP backward of RMSNorm does not take rows of {columns} {x.dtype}")
    parts = torch.empty((found.step if weight is not None else 1, columns), dtype=torch.float32, device=x.device)
    tensors = (dy, x, x if weight is None else weight, more, dx, parts)
    strides = (dy.stride(0), x.stride(0), more.stride(0))
    addresses = (tensor.data_ptr() for tensor in tensors)
    found.launch(found.blocks, *addresses, rows, *strides, found.step, columns, found.over_columns, eps)
    if weight is None or found.parts is None:
        return dx, None
    dweight = torch.empty_like(weight)
    found.parts(found.parts_blocks, parts.data_ptr(), dweight.data_ptr(), found.step, columns)
    return dx, dweight


def differentiable(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None) -> bool:
    """Whether forward and backward support these arguments."""
    if not x.numel():
        return True
    inputs = [as_rows(tensor) for tensor in (x, residual) if tensor is not None]
    rows, columns = inputs[0].shape
    weights = [] if weight is None else [weight.contiguous()]
    scale = None if weight is None else weight.dtype
    strides = [rows_.stride(0) for rows_ in inputs]
    device = x.get_device()
    return (
        aligned(*inputs, *weights)
        and ready(tuning.generation, op, device, x.dtype, scale, rows, columns, *strides) is not None
        and ready_backward(residual is not None, device, x.dtype, scale, rows, columns) is not None
    )


trained_rmsnorm, trained_add_rmsnorm = functions(forward, backward)


def rmsnorm(x: Tensor, weight: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.rmsnorm`."""
    if trains(x, weight):
        y = training.run("rmsnorm", x, weight, eps, tuning.generation)
        if y is not None:
            return y
        return trained_rmsnorm(x, weight, eps) if differentiable("rmsnorm", x, None, weight) else NotImplemented
    result = forward("rmsnorm", x, None, weight, eps)
    return result if result is NotImplemented else result[0]
