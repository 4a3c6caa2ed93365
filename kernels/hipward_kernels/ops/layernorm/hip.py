"""LayerNorm in HIP, forward and backward; the kernels are in `hip.hip` and `backward.hip`.

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
from hipward_kernels.ops.hip_launch import NAMES, Launches, aligned, at_least_as_wide, readable_rows, whole_vectors
from hipward_kernels.ops.launch import as_rows, compute_units, contiguous_like
from hipward_kernels.ops.layernorm.autograd import Statistics, function
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
    from collections.abc import Sequence

    from hipward_kernels.jit.driver import Launch

_FORWARD = Launches(Kernel(Path(__file__).with_name("hip.hip"), "forward", "PPPPPPqqiff"))
_BACKWARD = Launches(Kernel(Path(__file__).with_name("backward.hip"), "backward", "PPPPPPPqqqqif"))

PRELOADED_VECTORS = 2
"""Vectors of a thread up to which weight and bias are loaded together with the row."""


def forward_plan(arch: str, rows: int, columns: int, itemsize: int) -> tuple[Plan, dict[str, int]] | None:
    """The launch of the forward, and its macros."""
    measured = nvidia_row(arch, "layernorm", rows, columns, itemsize)
    if measured is not None:
        row, preload = measured
        return row, {**row.macros(), "PRELOAD": int(preload)}
    found = plan(columns, itemsize, most_vectors(arch, 1), cluster_for(arch, columns, itemsize), {})
    if found is None:
        return None
    return found, {**found.macros(), "PRELOAD": int(found.vectors <= PRELOADED_VECTORS)}


def backward_plan(arch: str, columns: int, itemsize: int) -> Plan | None:
    """The launch of the backward."""
    if not arch.startswith("sm_"):
        return plan(columns, itemsize, BACKWARD_VECTORS, 1, {})
    return nvidia_backward(arch, "layernorm", columns, itemsize)


@dataclass(frozen=True)
class Ready:
    """A prepared launch, cached for arguments of one form."""

    launch: Launch
    blocks: int
    step: int = 0
    """Distance between the rows of a block, in the backward: also the number of partial gradients."""
    parts: Launch | None = None
    """Adds the partial gradients of weight and bias."""
    parts_blocks: int = 0


def _fits(dtype: torch.dtype, weight: torch.dtype | None, columns: int, *strides: int) -> bool:
    return whole_vectors(dtype.itemsize, columns, *strides) and (weight is None or at_least_as_wide(weight, dtype))


def _names(dtype: torch.dtype, weight: torch.dtype | None, *, scaled: bool, shifted: bool) -> dict[str, object]:
    return {"T": NAMES[dtype], "W": NAMES[weight or dtype], "HAS_WEIGHT": int(scaled), "HAS_BIAS": int(shifted)}


@lru_cache(maxsize=4096)
def ready(
    _generation: int,
    device: int,
    dtype: torch.dtype,
    weight: torch.dtype | None,
    scaled: bool,
    shifted: bool,
    save: bool,
    rows: int,
    columns: int,
    stride: int,
) -> Ready | None:
    """The launch for rows of `dtype`; None if vectors do not fit or there are too many rows.

    `weight` is the dtype of weight and bias, None without both; `scaled` and `shifted` are whether there is a weight
    and a bias.
    """
    if not _fits(dtype, weight, columns, stride):
        return None
    found = forward_plan(get_gfx(device), rows, columns, dtype.itemsize)
    if found is None:
        return None
    shape, macros = found
    blocks = -(-rows // shape.rows) * shape.cluster
    if blocks > most_blocks(shape.threads):
        return None
    names = _names(dtype, weight, scaled=scaled, shifted=shifted)
    return Ready(_FORWARD.get(device, shape.threads, **names, **macros, SAVE=int(save)), blocks)


@lru_cache(maxsize=4096)
def ready_backward(
    _generation: int,
    device: int,
    dtype: torch.dtype,
    weight: torch.dtype | None,
    scaled: bool,
    shifted: bool,
    rows: int,
    columns: int,
) -> Ready | None:
    """The same for the backward, which has `step` partial gradients."""
    arch = get_gfx(device)
    found = backward_plan(arch, columns, dtype.itemsize) if _fits(dtype, weight, columns) else None
    if found is None:
        return None
    names = _names(dtype, weight, scaled=scaled, shifted=shifted)
    launch = _BACKWARD.get(device, found.threads, **names, **found.macros())
    teams = backward_teams(arch, found, rows, compute_units(device))
    blocks, step, count = teams * found.cluster, teams * found.rows, int(scaled) + int(shifted)
    if weight is None:
        return Ready(launch, blocks, step)
    return Ready(launch, blocks, step, *partial_gradients.launch_of(device, weight, count * columns))


def _parameter_dtype(weight: Tensor | None, bias: Tensor | None) -> torch.dtype | None:
    first = bias if weight is None else weight
    return None if first is None else first.dtype


def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, save: bool) -> Any:
    """LayerNorm of `x`, and the statistics of its rows; `NotImplemented` if vectors do not fit."""
    if weight is not None and bias is not None and weight.dtype is not bias.dtype:
        return NotImplemented
    y = contiguous_like(x)
    x = as_rows(x) if y.numel() else x.reshape(0, max(x.shape[-1], 1))
    rows, columns = x.shape
    # Tensors of their own: an operator must not return two views of one.
    mean, scale = (torch.empty(rows, dtype=torch.float32, device=x.device) if save else y for _ in range(2))
    statistics = Statistics(mean, scale) if save else None
    if not rows:
        return y, statistics
    weight, bias = (None if parameter is None else parameter.contiguous() for parameter in (weight, bias))
    form = (x.dtype, _parameter_dtype(weight, bias), weight is not None, bias is not None, save)
    found = ready(tuning.generation, x.get_device(), *form, rows, columns, x.stride(0))
    parameters = [x if parameter is None else parameter for parameter in (weight, bias)]
    if found is None or not aligned(x, *parameters):
        return NotImplemented
    tensors = (x, *parameters, y, mean, scale)
    found.launch(found.blocks, *(t.data_ptr() for t in tensors), rows, x.stride(0), columns, 1 / columns, eps)
    return y, statistics


def backward(
    dy: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, statistics: Statistics
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Gradients of `x`, of the weight and of the bias. The arguments must satisfy `differentiable`."""
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not dx.numel():
        dweight, dbias = (None if p is None else torch.zeros_like(p) for p in (weight, bias))
        return dx, dweight, dbias
    x, dy = as_rows(x), readable_rows(dy)
    rows, columns = x.shape
    weight = None if weight is None else weight.contiguous()
    dtype, count = _parameter_dtype(weight, bias), int(weight is not None) + int(bias is not None)
    form = (x.get_device(), x.dtype, dtype, weight is not None, bias is not None)
    found = ready_backward(tuning.generation, *form, rows, columns)
    if found is None:
        raise RuntimeError(f"the HIP backward of LayerNorm does not take rows of {columns} {x.dtype}")
    parts = torch.empty((found.step if count else 1, max(count, 1), columns), dtype=torch.float32, device=x.device)
    tensors = (dy, x, x if weight is None else weight, statistics.mean, statistics.scale, dx, parts)
    strides = (dy.stride(0), x.stride(0), found.step)
    found.launch(found.blocks, *(t.data_ptr() for t in tensors), rows, *strides, columns, 1 / columns)
    if found.parts is None:
        return dx, None, None
    sums = torch.empty((count, columns), dtype=dtype, device=x.device)
    found.parts(found.parts_blocks, parts.data_ptr(), sums.data_ptr(), found.step, count * columns)
    gradients = iter(sums.unbind())
    return dx, next(gradients) if weight is not None else None, next(gradients) if bias is not None else None


def differentiable(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> bool:
    """Whether forward and backward support these arguments."""
    if not x.numel():
        return True
    if weight is not None and bias is not None and weight.dtype is not bias.dtype:
        return False
    rows_ = as_rows(x)
    rows, columns = rows_.shape
    form = (x.get_device(), x.dtype, _parameter_dtype(weight, bias), weight is not None, bias is not None)
    parameters = [parameter.contiguous() for parameter in (weight, bias) if parameter is not None]
    return (
        aligned(rows_, *parameters)
        and ready(tuning.generation, *form, True, rows, columns, rows_.stride(0)) is not None
        and ready_backward(tuning.generation, *form, rows, columns) is not None
    )


def _for_training(backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
    """Selects the kernels for `training.cpp`."""
    generation, _, _, device, dtype_number, weight_number, rows, columns, stride, kinds, *_ = form
    dtype, weight = training.DTYPES.get(dtype_number), training.DTYPES.get(weight_number)
    if dtype is None or (weight is None and weight_number >= 0):
        return None
    key = (generation, device, dtype, weight, bool(kinds & 1), bool(kinds & 2))
    if not backward:
        found = ready(*key, True, rows, columns, stride)
        return None if found is None else (found.launch.handle, found.blocks, found.launch.threads)
    found = ready_backward(*key, rows, columns)
    if found is None:
        return None
    numbers = (found.launch.handle, found.blocks, found.launch.threads, found.step)
    return (*numbers, found.parts.handle, found.parts_blocks, found.parts.threads) if found.parts else numbers


training.register("layernorm", _for_training)
trained = function(forward, backward)


def layernorm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.layernorm`."""
    if trains(x, weight, bias):
        y = training.run("layernorm", x, weight, bias, eps, tuning.generation)
        if y is not None:
            return y
        return trained(x, weight, bias, eps) if differentiable(x, weight, bias) else NotImplemented
    result = forward(x, weight, bias, eps, save=False)
    return result if result is NotImplemented else result[0]


def layernorm_with_statistics(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
    """See `hipward_kernels.ops.layernorm.FORWARD`."""
    result = forward(x, weight, bias, eps, save=True)
    if result is NotImplemented:
        return result
    y, statistics = result
    return y, statistics.mean, statistics.scale


def layernorm_backward(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, scale: Tensor, dy: Tensor
) -> Any:
    """See `hipward_kernels.ops.layernorm.BACKWARD`."""
    fits = differentiable(x, weight, bias)
    return backward(dy, x, weight, bias, Statistics(mean, scale)) if fits else NotImplemented
