"""Softmax cross-entropy in Triton: logits are read once for the loss, and once more for the gradient.

The forward updates the largest logit and the sum of exponentials while it reads a row (online softmax, Milakov and
Gimelshein 2018, https://arxiv.org/abs/1805.02867), and saves `n = log(sum(exp(logits)))` of each row. The backward
needs nothing else: `dlogits = (exp(logits - n) - [label]) * dloss`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.cross_entropy.autograd import function
from hipward_kernels.ops.cross_entropy.reduction import reduced
from hipward_kernels.ops.launch import (
    COLUMN_BLOCK,
    as_rows,
    launch,
    launch_device,
    next_power_of_two,
    warp_size_of,
    warps,
)
from hipward_kernels.ops.triton_math import exponential


@triton.jit
def forward_kernel(
    logits_ptr, labels_ptr, losses_ptr, normalizers_ptr, stride, columns, ignore_index, BLOCK: tl.constexpr
):
    """One program per row, `BLOCK` columns at a time; each lane has its own maximum and sum."""
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    # Finite, so that a logit of -inf does not give inf - inf.
    largest = tl.full((BLOCK,), -3.4028234663852886e38, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + column, mask=column < columns, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(largest, x)
        total = total * exponential(largest - higher) + exponential(x - higher)
        largest = higher
    top = tl.max(largest, 0)
    normalizer = top + tl.log(tl.sum(total * exponential(largest - top), 0))
    tl.store(normalizers_ptr + row, normalizer)
    label = tl.load(labels_ptr + row)
    valid = (label >= 0) & (label < columns)
    picked = tl.load(logits_ptr + label, mask=valid, other=float("nan")).to(tl.float32)
    tl.store(losses_ptr + row, tl.where(label == ignore_index, 0.0, normalizer - picked))


@triton.jit
def backward_kernel(
    dlosses_ptr,
    logits_ptr,
    labels_ptr,
    normalizers_ptr,
    dlogits_ptr,
    dlosses_stride,
    stride,
    columns,
    ignore_index,
    BLOCK: tl.constexpr,
):
    """Program `(r, b)` handles columns of block `b` in row `r`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    label = tl.load(labels_ptr + row)
    dloss = tl.load(dlosses_ptr + row * dlosses_stride).to(tl.float32)
    x = tl.load(logits_ptr + row * stride + column, mask=mask, other=-float("inf")).to(tl.float32)
    probability = exponential(x - tl.load(normalizers_ptr + row))
    dlogits = (probability - tl.where(column == label, 1.0, 0.0)) * dloss
    # `where` and not a product: an ignored row has no gradient, even if its logits are not finite.
    dlogits = tl.where(label == ignore_index, 0.0, dlogits)
    tl.store(dlogits_ptr + row * columns + column, dlogits.to(dlogits_ptr.dtype.element_ty), mask=mask)


def column_block(columns: int) -> int:
    """Columns that one program handles at a time."""
    return min(next_power_of_two(columns), COLUMN_BLOCK)


def forward(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """Losses of the rows, and the logarithms of their sums of exponentials."""
    rows, columns = logits.shape
    losses, normalizers = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(2))
    if rows == 0:
        return losses, normalizers
    block = column_block(columns)
    with launch_device(logits):
        launch(
            forward_kernel,
            (rows,),
            (logits, labels, losses, normalizers, logits.stride(0), columns, ignore_index),
            {"BLOCK": block},
            warps(block, warp_size_of(logits.get_device())),
        )
    return losses, normalizers


def backward(dlosses: Tensor, logits: Tensor, labels: Tensor, normalizers: Tensor, ignore_index: int) -> Tensor:
    """Gradient of the logits."""
    dlogits = torch.empty_like(logits, memory_format=torch.contiguous_format)
    rows, columns = logits.shape
    if rows == 0:
        return dlogits
    block = column_block(columns)
    with launch_device(logits):
        launch(
            backward_kernel,
            (rows, triton.cdiv(columns, block)),
            (dlosses, logits, labels, normalizers, dlogits, dlosses.stride(0), logits.stride(0), columns, ignore_index),
            {"BLOCK": block},
            warps(block, warp_size_of(logits.get_device())),
        )
    return dlogits


trained = function(forward, backward)


def cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """Loss of each row; see `hipward_kernels.ops.cross_entropy`."""
    if logits.shape[-1] == 0:
        return NotImplemented  # type: ignore[no-any-return]
    logits, labels = (as_rows(logits) if logits.numel() else logits), labels.contiguous()
    if trains(logits):
        return trained(logits, labels, ignore_index)  # type: ignore[no-any-return]
    return forward(logits, labels, ignore_index)[0]


def cross_entropy_reduced(logits: Tensor, labels: Tensor, ignore_index: int, reduction: str) -> Tensor:
    """See `hipward_kernels.ops.cross_entropy.REDUCED`."""
    losses = cross_entropy(logits, labels, ignore_index)
    return losses if losses is NotImplemented else reduced(losses, labels, ignore_index, reduction)


def cross_entropy_with_normalizers(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """See `hipward_kernels.ops.cross_entropy.FORWARD`."""
    if logits.shape[-1] == 0:
        return NotImplemented  # type: ignore[no-any-return]
    return forward(as_rows(logits) if logits.numel() else logits, labels.contiguous(), ignore_index)


def cross_entropy_backward(
    logits: Tensor, labels: Tensor, normalizers: Tensor, dlosses: Tensor, ignore_index: int
) -> Tensor:
    """See `hipward_kernels.ops.cross_entropy.BACKWARD`."""
    if logits.shape[-1] == 0:
        return NotImplemented  # type: ignore[no-any-return]
    logits = as_rows(logits) if logits.numel() else logits
    return backward(dlosses, logits, labels.contiguous(), normalizers, ignore_index)
