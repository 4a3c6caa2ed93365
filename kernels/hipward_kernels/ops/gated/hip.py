"""Launches of the gated activations' HIP kernels, forward and backward; the kernels are in `jit/include/gated.h`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.autograd import refuse_second_derivative
from hipward_kernels.ops.hip_launch import MOST_BLOCKS, NAMES, Launches, aligned, whole_vectors
from hipward_kernels.ops.launch import as_rows

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

THREADS = 256
VECTORS = 1
"""Vectors of 16 bytes that a thread reads from each input."""


class Gated:
    """One activation's kernels."""

    def __init__(self, op: str, file: Path) -> None:
        self.op = op
        self._forward = Launches(Kernel(file, "forward", "PPPqqII"))
        self._backward = Launches(Kernel(file, "backward", "PPPPPqqqII"))

    def __call__(self, gate: Tensor, up: Tensor) -> Any:
        """`activation(gate) * up`, or `NotImplemented`."""
        if not takes(gate, up):
            return NotImplemented
        if (gate.requires_grad or up.requires_grad) and torch.is_grad_enabled():
            return _Trained.apply(gate, up, self)
        return self.forward(gate, up)

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """Without a graph."""
        y = torch.empty_like(gate, memory_format=torch.contiguous_format)
        count = y.numel()
        if count:
            gate, up = as_rows(gate), as_rows(up)
            strides, vectors, row_vectors = shape(y.itemsize, count, gate, up)
            launch = self._forward.get(y.get_device(), THREADS, T=NAMES[y.dtype], THREADS=THREADS, VECTORS=VECTORS)
            blocks = -(-vectors // (THREADS * VECTORS))
            launch(blocks, gate.data_ptr(), up.data_ptr(), y.data_ptr(), *strides, vectors, row_vectors)
        return y

    def backward(self, dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of `gate` and `up`."""
        dgate = torch.empty_like(gate, memory_format=torch.contiguous_format)
        dup = torch.empty_like(dgate)
        count = dgate.numel()
        if count:
            # A gradient may be a view that vectors cannot read.
            dy = dy if takes(gate, dy) else dy.clone(memory_format=torch.contiguous_format)
            dy, gate, up = as_rows(dy), as_rows(gate), as_rows(up)
            strides, vectors, row_vectors = shape(dgate.itemsize, count, dy, gate, up)
            device, name = dgate.get_device(), NAMES[dgate.dtype]
            launch = self._backward.get(device, THREADS, T=name, THREADS=THREADS, VECTORS=VECTORS)
            addresses = (x.data_ptr() for x in (dy, gate, up, dgate, dup))
            launch(-(-vectors // (THREADS * VECTORS)), *addresses, *strides, vectors, row_vectors)
        return dgate, dup


def takes(gate: Tensor, up: Tensor) -> bool:
    """Whether 16-byte vectors can read both, in place."""
    if not gate.numel():
        return True
    if not aligned(gate, up) or gate.numel() * gate.itemsize // 16 > MOST_BLOCKS:
        return False
    if gate.is_contiguous() and up.is_contiguous():
        return whole_vectors(gate.itemsize, gate.numel())
    gate, up = as_rows(gate), as_rows(up)
    return whole_vectors(gate.itemsize, gate.shape[1], gate.stride(0), up.stride(0)) and aligned(gate, up)


def shape(itemsize: int, count: int, *rows: Tensor) -> tuple[list[int], int, int]:
    """Strides of the rows, vectors in all, and vectors of a row: contiguous tensors are one long row."""
    size = 16 // itemsize
    vectors = count // size
    if all(x.is_contiguous() for x in rows):
        return [0] * len(rows), vectors, vectors
    return [x.stride(0) for x in rows], vectors, rows[0].shape[1] // size


class _Trained(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, kernels: Gated) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.kernels = kernels
        return kernels.forward(gate, up)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        refuse_second_derivative(ctx.kernels.op)
        return (*ctx.kernels.backward(dy, *ctx.saved_tensors), None)
