"""Softmax cross-entropy in HIP, forward and backward; the kernels are in `hip.hip`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.grid import most_blocks
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.cross_entropy.autograd import function
from hipward_kernels.ops.cross_entropy.reduction import reduced
from hipward_kernels.ops.hip_launch import NAMES, VECTOR_BYTES, Launches, aligned, whole_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hipward_kernels.jit.driver import Launch

_FILE = Path(__file__).with_name("hip.hip")
FORWARD = Launches(Kernel(_FILE, "forward", "PPPPqqi"))
SUM = Launches(Kernel(_FILE, "sum", "PPPPqqi"))
BACKWARD = Launches(Kernel(_FILE, "backward", "PPPPPPqqqiI"))

THREADS = 512
BACKWARD_THREADS = 256

SUMMED_ROWS = 1 << 16
"""The most rows whose losses the one block of `sum` adds; PyTorch adds more."""


def takes(logits: Tensor) -> bool:
    """Whether 16-byte vectors can read the rows in place, and the rows do not exceed the blocks of a launch."""
    rows, columns = logits.shape
    return (
        columns > 0
        and logits.stride(1) == 1
        and whole_vectors(logits.itemsize, columns, logits.stride(0))
        and aligned(logits)
        and has_blocks(rows, columns, logits.itemsize)
    )


def has_blocks(rows: int, columns: int, itemsize: int) -> bool:
    """Whether forward and backward have no more blocks than a launch."""
    of_row = row_blocks(columns, itemsize)
    return rows <= most_blocks(THREADS) and rows * of_row <= most_blocks(BACKWARD_THREADS)


def row_blocks(columns: int, itemsize: int) -> int:
    """Blocks of a row in the backward."""
    return -(-columns * itemsize // (VECTOR_BYTES * BACKWARD_THREADS))


def launch_of(launches: Launches, device: int, dtype: torch.dtype) -> Launch:
    """The launch of one of the three kernels."""
    threads = BACKWARD_THREADS if launches is BACKWARD else THREADS
    return launches.get(device, threads, T=NAMES[dtype], THREADS=threads)


def forward(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """Losses of the rows, and the logarithms of their sums of exponentials."""
    rows, columns = logits.shape
    # Tensors of their own: an operator must not return two views of one.
    losses, normalizers = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(2))
    if rows:
        launch = launch_of(FORWARD, logits.get_device(), logits.dtype)
        addresses = (logits.data_ptr(), labels.data_ptr(), losses.data_ptr(), normalizers.data_ptr())
        launch(rows, *addresses, logits.stride(0), ignore_index, columns)
    return losses, normalizers


def backward(dlosses: Tensor, logits: Tensor, labels: Tensor, normalizers: Tensor, ignore_index: int) -> Tensor:
    """Gradient of the logits."""
    dlogits = torch.empty_like(logits, memory_format=torch.contiguous_format)
    rows, columns = logits.shape
    if rows:
        launch = launch_of(BACKWARD, logits.get_device(), logits.dtype)
        blocks = row_blocks(columns, logits.itemsize)
        addresses = (*(x.data_ptr() for x in (dlosses, logits, labels, normalizers)), 0, dlogits.data_ptr())
        launch(rows * blocks, *addresses, dlosses.stride(0), logits.stride(0), ignore_index, columns, blocks)
    return dlogits


def _for_training(backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
    """Selects the kernels for `training.cpp`."""
    _, _, _, device, dtype_number, _, rows, columns, stride, *_ = form
    dtype = training.DTYPES.get(dtype_number)
    if dtype is None or not whole_vectors(dtype.itemsize, columns, stride):
        return None
    if not has_blocks(rows, columns, dtype.itemsize):
        return None
    launch = launch_of(BACKWARD if backward else FORWARD, device, dtype)
    if not backward:
        add = launch_of(SUM, device, dtype)
        return launch.handle, rows, launch.threads, 0, add.handle, 1, add.threads
    blocks = row_blocks(columns, dtype.itemsize)
    return launch.handle, rows * blocks, launch.threads, blocks


training.register("cross_entropy", _for_training)
trained = function(forward, backward)


def cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int) -> Any:
    """Loss of each row; see `hipward_kernels.ops.cross_entropy`."""
    if not takes(logits):
        return NotImplemented
    labels = labels.contiguous()
    if not trains(logits):
        return forward(logits, labels, ignore_index)[0]
    losses = training.run("cross_entropy", logits, labels, ignore_index, "none")
    return trained(logits, labels, ignore_index) if losses is None else losses


def cross_entropy_reduced(logits: Tensor, labels: Tensor, ignore_index: int, reduction: str) -> Any:
    """See `hipward_kernels.ops.cross_entropy.REDUCED`."""
    if not takes(logits):
        return NotImplemented
    labels = labels.contiguous()
    if trains(logits) and len(labels) <= SUMMED_ROWS:
        loss = training.run("cross_entropy", logits, labels, ignore_index, reduction)
        if loss is not None:
            return loss
    return reduced(cross_entropy(logits, labels, ignore_index), labels, ignore_index, reduction)


def cross_entropy_with_normalizers(logits: Tensor, labels: Tensor, ignore_index: int) -> Any:
    """See `hipward_kernels.ops.cross_entropy.FORWARD`."""
    return forward(logits, labels.contiguous(), ignore_index) if takes(logits) else NotImplemented


def cross_entropy_backward(
    logits: Tensor, labels: Tensor, normalizers: Tensor, dlosses: Tensor, ignore_index: int
) -> Any:
    """See `hipward_kernels.ops.cross_entropy.BACKWARD`."""
    fits = takes(logits)
    return backward(dlosses, logits, labels.contiguous(), normalizers, ignore_index) if fits else NotImplemented
