"""Softmax in Triton: forward and backward.

    y  = exp(x - max(x)) / sum(exp(x - max(x)))
    dx = y * (dy - sum(dy * y))

A row that fits is loaded into registers once. Longer rows are read twice, in blocks of columns: the first time, each
lane updates its largest element and its sum of exponentials (online softmax, Milakov and Gimelshein 2018,
https://arxiv.org/abs/1805.02867).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.launch import as_rows, launch, launch_device, row_block, row_limit, warp_size_of, warps
from hipward_kernels.ops.softmax.autograd import function
from hipward_kernels.ops.triton_math import exponential


@triton.jit
def forward_kernel(x_ptr, y_ptr, x_stride, columns, BLOCK: tl.constexpr):
    """One program per row; the row fits into `BLOCK`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=-float("inf")).to(tl.float32)
    # Finite, so that an element of -inf does not give inf - inf.
    exponentials = exponential(x - tl.maximum(tl.max(x, 0), -3.4028234663852886e38))
    y = exponentials * (1.0 / tl.sum(exponentials, 0))
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def forward_blocked_kernel(x_ptr, y_ptr, x_stride, columns, BLOCK: tl.constexpr):
    """One program per row, `BLOCK` columns at a time; each lane has its own maximum and sum."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    y_ptr += row * columns
    largest = tl.full((BLOCK,), -3.4028234663852886e38, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + column, mask=column < columns, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(largest, x)
        total = total * exponential(largest - higher) + exponential(x - higher)
        largest = higher
    top = tl.max(largest, 0)
    over = 1.0 / tl.sum(total * exponential(largest - top), 0)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + column, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_ptr + column, (exponential(x - top) * over).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(dy_ptr, y_ptr, dx_ptr, dy_stride, columns, BLOCK: tl.constexpr):
    """One program per row; the row fits into `BLOCK`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    y = tl.load(y_ptr + row * columns + column, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, 0))
    tl.store(dx_ptr + row * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_blocked_kernel(dy_ptr, y_ptr, dx_ptr, dy_stride, columns, BLOCK: tl.constexpr):
    """One program per row, `BLOCK` columns at a time: once for the sum, once for the gradient."""
    row = tl.program_id(0).to(tl.int64)
    y_ptr += row * columns
    dx_ptr += row * columns
    dy_ptr += row * dy_stride
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        y = tl.load(y_ptr + column, mask=mask, other=0.0).to(tl.float32)
        products += y * tl.load(dy_ptr + column, mask=mask, other=0.0).to(tl.float32)
    along = tl.sum(products, 0)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        y = tl.load(y_ptr + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + column, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_ptr + column, (y * (dy - along)).to(dx_ptr.dtype.element_ty), mask=mask)


def _launch(whole: Any, blocked: Any, tensors: tuple[Tensor, ...], stride: int, rows: int, columns: int) -> None:
    warp_size = warp_size_of(tensors[0].get_device())
    block = row_block(columns, row_limit(warp_size))
    kernel = whole if block >= columns else blocked
    with launch_device(tensors[0]):
        launch(kernel, (rows,), (*tensors, stride, columns), {"BLOCK": block}, warps(block, warp_size))


def forward(x: Tensor) -> Tensor:
    """The softmax without autograd."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel():
        x = as_rows(x)
        _launch(forward_kernel, forward_blocked_kernel, (x, y), x.stride(0), *x.shape)
    return y


def backward(dy: Tensor, y: Tensor) -> Tensor:
    """The gradient of `x`."""
    dx = torch.empty_like(y)
    if y.numel():
        dy, y = as_rows(dy), as_rows(y)
        _launch(backward_kernel, backward_blocked_kernel, (dy, y, dx), dy.stride(0), *y.shape)
    return dx


trained = function(forward, backward)


def softmax(x: Tensor) -> Tensor:
    """See `hipward_kernels.ops.softmax`."""
    return trained(x) if trains(x) else forward(x)
