"""RMSNorm in HIP, forward and backward; the kernels are in `hip.hip` and `backward.hip`.

A row is held in registers by the threads of one block, or of a cluster of blocks where a GPU has those. Rows that are
too long for that are left to the next tier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.dispatch import tuning
from hipward_kernels.gpu.arch import cluster_of, get_gfx
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.jit.grid import most_blocks
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import NAMES, VECTOR_BYTES, Launches, aligned, at_least_as_wide, whole_vectors
from hipward_kernels.ops.launch import as_rows, compute_units, contiguous_like, next_power_of_two
from hipward_kernels.ops.rmsnorm.autograd import functions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipward_kernels.jit.driver import Launch

_FORWARD = Launches(Kernel(Path(__file__).with_name("hip.hip"), "forward", "PPPPPqqqiff"))
_BACKWARD = Launches(Kernel(Path(__file__).with_name("backward.hip"), "backward", "PPPPPPqqqqqiff"))

ROW_THREADS = 512
"""Most threads of a row in a block: with more, a block leaves no room for a second one to load while the first
computes."""

BLOCK_THREADS = 128
"""Least threads of a block, where a row needs fewer."""

MOST_VECTORS = 16
"""Of a thread, of all inputs: 64 of its registers, which is all that 512 threads can have without spilling."""

PRELOADED_VECTORS = 8
"""Of a thread, of all inputs and the weight: up to this many are on their way at once."""

TOGETHER_THREADS = 256
"""Of a block: up to this many, the weight is held together with the row. With more, its registers leave no room for a
second block, which costs a fifth on an H200."""

CLUSTERED_VECTORS = 4096
"""Rows from this length on are shared by blocks of a cluster: each SM of an H200 then holds several rows."""

SMALLEST_CLUSTER_ROW = 32
"""Fewest threads of a row in a block of a cluster: a warp, since only NVIDIA GPUs have clusters."""

BACKWARD_VECTORS = {64: 4, 32: 2}
"""Of a thread in the backward, by lanes of a wave: AMD's GPUs have twice the registers. Each vector takes at least 20:
the row, its gradient, the weight, and the part of the weight's gradient in float32."""

BLOCKS_PER_COMPUTE_UNIT = 4
"""Of the backward: enough to hide memory's latency, few enough to keep the parts of the weight's gradient small."""


@dataclass(frozen=True)
class Plan:
    """How a row is shared out."""

    row_threads: int
    """Of a block."""
    rows: int
    """Of a block."""
    cluster: int
    """Blocks of a row."""
    vectors: int
    """Of a thread."""
    whole: bool
    """The threads' vectors are just the row."""

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.row_threads * self.rows

    def macros(self) -> dict[str, int]:
        """For the kernels."""
        return {
            "ROW_THREADS": self.row_threads,
            "ROWS": self.rows,
            "CLUSTER": self.cluster,
            "VECTORS": self.vectors,
            "WHOLE": int(self.whole),
        }


def plan(columns: int, itemsize: int, most_vectors: int, cluster: int, chosen: Mapping[str, int]) -> Plan | None:
    """The launch for rows of a length, or None where a thread would need more than `most_vectors`.

    Two vectors a thread, as long as there are threads; `chosen` of the tuned table replaces what it names.
    """
    vectors = -(-columns // (VECTOR_BYTES // itemsize))
    cluster = chosen.get("cluster", cluster)
    of_block = -(-vectors // cluster)
    # The power of two below, so that few threads of a row that is no power of two are idle; more, if they have no room.
    below, room = (1 << of_block.bit_length() - 1) // 2, next_power_of_two(-(-of_block // most_vectors))
    row_threads = chosen.get("row_threads", min(max(below, room), ROW_THREADS))
    of_thread = -(-of_block // row_threads)
    if of_thread > most_vectors or (cluster > 1 and row_threads < SMALLEST_CLUSTER_ROW):
        return None
    rows = chosen.get("rows", 1 if cluster > 1 else max(BLOCK_THREADS // row_threads, 1))
    return Plan(row_threads, rows, cluster, of_thread, of_thread * row_threads * cluster == vectors)


def forward_plan(
    arch: str, columns: int, itemsize: int, inputs: int, chosen: Mapping[str, int]
) -> tuple[Plan, dict[str, int]] | None:
    """The launch of the forward, and the macros that say how it is done."""
    cluster = cluster_of(arch) if columns * itemsize >= CLUSTERED_VECTORS * VECTOR_BYTES else 1
    found = plan(columns, itemsize, MOST_VECTORS // inputs, cluster, chosen)
    if found is None:
        return None
    preload = 0
    if found.vectors * (inputs + 1) <= PRELOADED_VECTORS:
        preload = 2 if found.threads <= TOGETHER_THREADS else 1
    how = {
        "PRELOAD": chosen.get("preload", preload),
        "ONCE": chosen.get("once", 0),
        "STREAM": chosen.get("stream", 0),
    }
    return found, {**found.macros(), **how, "ADD": inputs - 1}


def backward_plan(arch: str, columns: int, itemsize: int) -> Plan | None:
    """The launch of the backward."""
    cluster, most = 1, BACKWARD_VECTORS[wavefront_of(arch)]
    while (found := plan(columns, itemsize, most, cluster, {})) is None and cluster < cluster_of(arch):
        cluster *= 2
    return found


@dataclass(frozen=True)
class Ready:
    """What is worked out once for a form of arguments."""

    launch: Launch
    blocks: int
    over_columns: float
    step: int = 0
    """Rows from one of a block to its next, in the backward."""


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
    """The launch for rows of `dtype` and a weight of `scale`; None where vectors do not fit or rows are too many."""
    if not _fits(dtype, scale, columns, *strides):
        return None
    arch = get_gfx(device)
    choice = tuning.choice(arch, op, dtype, rows, columns)
    chosen = choice.numbers() if choice is not None and choice.tier == "hip" else {}
    found = forward_plan(arch, columns, dtype.itemsize, 2 if op == "add_rmsnorm" else 1, chosen)
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
    """The same for the backward, whose parts of the weight's gradient are as many as its step."""
    found = backward_plan(get_gfx(device), columns, dtype.itemsize) if _fits(dtype, scale, columns) else None
    if found is None:
        return None
    macros = {**found.macros(), "ADD": int(add), "HAS_WEIGHT": int(scale is not None)}
    launch = _BACKWARD.get(device, found.threads, T=NAMES[dtype], W=NAMES[scale or dtype], **macros)
    teams = min(-(-rows // found.rows), max(compute_units(device) * BLOCKS_PER_COMPUTE_UNIT // found.cluster, 1))
    return Ready(launch, teams * found.cluster, 1 / columns, teams * found.rows)


def forward(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float) -> Any:
    """RMSNorm of `x`, or of `x + residual`, and what was normalized; `NotImplemented` where vectors do not fit."""
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
    """Gradients of what was normalized, `x`, and of the weight; `dtotal` is added to the first.

    Only for what `differentiable` takes.
    """
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not dx.numel():
        return dx, None if weight is None else torch.zeros_like(weight)
    x, dy = as_rows(x), _readable(dy)
    more = x if dtotal is None else _readable(dtotal)
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
    return dx, None if weight is None else parts.sum(0).to(weight.dtype)


def _readable(gradient: Tensor) -> Tensor:
    """The rows of a gradient, which may be a view that vectors cannot read."""
    rows = as_rows(gradient)
    if aligned(rows) and whole_vectors(rows.itemsize, rows.stride(0)):
        return rows
    return rows.clone(memory_format=torch.contiguous_format)


def differentiable(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None) -> bool:
    """Whether both directions take these."""
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
        return trained_rmsnorm(x, weight, eps) if differentiable("rmsnorm", x, None, weight) else NotImplemented
    result = forward("rmsnorm", x, None, weight, eps)
    return result if result is NotImplemented else result[0]
