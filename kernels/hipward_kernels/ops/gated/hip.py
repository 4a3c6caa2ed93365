"""Launches of the gated activations' HIP kernels, forward and backward; the kernels are in `jit/include/gated.h`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.dispatch import tuning
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops import training
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.gated.autograd import function
from hipward_kernels.ops.hip_launch import MOST_VECTORS, NAMES, VECTOR_BYTES, Launches, aligned, whole_vectors
from hipward_kernels.ops.launch import as_rows, compute_units, contiguous_like

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from hipward_kernels.jit.driver import Launch

THREADS = 256
AMD_VECTORS = 2
"""Vectors that a thread of an AMD GPU reads from each input of a large tensor: half the workgroups, and twice the bytes
on their way at nearly the same occupancy (`results/amd_code.csv`)."""
RESIDENT = 8
"""Workgroups of `THREADS` that fit on a compute unit of AMD."""


def vectors_of_thread(arch: str, size: int, units: int) -> int:
    """Vectors that a thread reads from each input of `size` bytes on a GPU with `units` compute units.

    Two only if all compute units still get as many workgroups as they hold.
    """
    is_large = size >= units * RESIDENT * THREADS * AMD_VECTORS * VECTOR_BYTES
    return AMD_VECTORS if arch.startswith("gfx") and is_large else 1


def macros(chosen: Mapping[str, int], flat: bool, size: int, vectors: int) -> dict[str, int]:
    """Macros of the kernels for inputs of `size` bytes. `chosen`, from the tuned table, replaces the defaults.

    `vectors` is the number of vectors that a thread reads from each input.
    """
    how = {
        "THREADS": chosen.get("threads", THREADS),
        "VECTORS": chosen.get("vectors", vectors),
        "BYTES": chosen.get("bytes", VECTOR_BYTES),
        "ONCE": chosen.get("once", 0),
        "STREAM": chosen.get("stream", 1),
        "FLAT": int(flat),
    }
    return {**how, "WHOLE": int(size % (how["THREADS"] * how["VECTORS"] * how["BYTES"]) == 0)}


class Gated:
    """One activation's kernels."""

    def __init__(self, op: str, file: Path) -> None:
        self.op = op
        self._forward = Launches(Kernel(file, "forward", "PPPqqII"))
        self._backward = Launches(Kernel(file, "backward", "PPPPPqqqII"))
        self._trained = function(op, self.forward, self.backward)
        self._ready = lru_cache(maxsize=4096)(self._prepare)
        self._number = training.OPS.index(op)
        training.register(op, self._for_training)

    def __call__(self, gate: Tensor, up: Tensor) -> Any:
        """`activation(gate) * up`, or `NotImplemented`."""
        if trains(gate, up):
            y = training.run("gated", gate, up, self._number, tuning.generation)
            if y is not None:
                return y
            return self._trained(gate, up) if takes(gate, up) else NotImplemented
        return self.forward(gate, up)

    def _prepare(
        self, _generation: int, device: int, dtype: torch.dtype, shape: torch.Size, flat: bool
    ) -> tuple[Launch, int, int] | None:
        """The launch of the forward, its blocks and the number of vectors; None if rows are not whole vectors."""
        count, columns = shape.numel(), shape[-1] if shape else 1
        size = count * dtype.itemsize
        if size % VECTOR_BYTES:
            return None
        arch = get_gfx(device)
        choice = tuning.choice(arch, self.op, dtype, count // columns, columns)
        # Only contiguous tensors are processed in smaller vectors.
        chosen = choice.numbers() if flat and choice is not None and choice.tier == "hip" else {}
        how = macros(chosen, flat, size, vectors_of_thread(arch, size, compute_units(device)))
        vectors = size // how["BYTES"]
        if vectors > MOST_VECTORS:
            return None
        launch = self._forward.get(device, how["THREADS"], T=NAMES[dtype], **how)
        return launch, -(-vectors // (how["THREADS"] * how["VECTORS"])), vectors

    def _for_training(self, backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
        """Selects the kernels for `training.cpp`; the last number is that of the vectors."""
        generation, _, _, device, dtype_number, _, rows, columns, flat, *_ = form
        dtype, shape = training.DTYPES.get(dtype_number), torch.Size((rows, columns))
        if dtype is None:
            return None
        if not backward:
            found = self._ready(generation, device, dtype, shape, bool(flat))
            if found is None:
                return None
            launch, blocks, vectors = found
            return launch.handle, blocks, launch.threads, vectors
        size = shape.numel() * dtype.itemsize
        if size // VECTOR_BYTES > MOST_VECTORS:
            return None
        launch, blocks = self._backward_launch(device, dtype, size, bool(flat))
        return launch.handle, blocks, launch.threads

    def joined_for_training(self, backward: bool, form: Sequence[int]) -> tuple[int, ...] | None:
        """The same for `swiglu`, whose inputs are the halves of rows."""
        device, dtype, size = form[3], training.DTYPES.get(form[4]), form[6] * form[7]
        if dtype is None:
            return None
        if not backward:
            return self._for_training(backward, (*form[:8], 0, 0))
        size *= dtype.itemsize
        if size // VECTOR_BYTES > MOST_VECTORS:
            return None
        launch, blocks = self._backward_launch(device, dtype, size, flat=False, joined=1)
        return launch.handle, blocks, launch.threads

    def _backward_launch(
        self, device: int, dtype: torch.dtype, size: int, flat: bool, joined: int = 0
    ) -> tuple[Launch, int]:
        """The launch of the backward for `size` bytes of each input, and its blocks."""
        vectors = vectors_of_thread(get_gfx(device), size, compute_units(device))
        launch = self._backward.get(device, THREADS, T=NAMES[dtype], **macros({}, flat, size, vectors), JOINED=joined)
        return launch, -(-size // (VECTOR_BYTES * THREADS * vectors))

    def forward(self, gate: Tensor, up: Tensor) -> Any:
        """The activation without autograd; `NotImplemented` if vectors do not fit."""
        y = contiguous_like(gate)
        shape = gate.shape
        if not y.numel():
            return y
        flat = gate.is_contiguous() and up.is_contiguous()
        row_vectors = gate_stride = up_stride = 0
        if not flat:
            gate, up = as_rows(gate), as_rows(up)
            gate_stride, up_stride = gate.stride(0), up.stride(0)
            if not whole_vectors(y.itemsize, gate.shape[1], gate_stride, up_stride):
                return NotImplemented
            row_vectors = gate.shape[1] * y.itemsize // VECTOR_BYTES
        gate_address, up_address = gate.data_ptr(), up.data_ptr()
        found = self._ready(tuning.generation, y.get_device(), y.dtype, shape, flat)
        if found is None or (gate_address | up_address) % VECTOR_BYTES:
            return NotImplemented
        launch, blocks, vectors = found
        launch(blocks, gate_address, up_address, y.data_ptr(), gate_stride, up_stride, vectors, row_vectors)
        return y

    def backward_joined(self, dy: Tensor, gate_up: Tensor) -> Tensor:
        """The gradient of `gate_up`, whose rows are those of `gate`, then `up`."""
        joined = torch.empty_like(gate_up, memory_format=torch.contiguous_format)
        count = dy.numel()
        if count:
            gate, up = gate_up.chunk(2, dim=-1)
            dy = dy if takes(gate, dy) else dy.clone(memory_format=torch.contiguous_format)
            dy, gate, up = as_rows(dy), as_rows(gate), as_rows(up)
            launch, blocks = self._backward_launch(dy.get_device(), dy.dtype, count * dy.itemsize, flat=False, joined=1)
            size, columns = VECTOR_BYTES // dy.itemsize, gate.shape[1]
            strides = (dy.stride(0), gate.stride(0), up.stride(0))
            addresses = (x.data_ptr() for x in (dy, gate, up, *joined.chunk(2, dim=-1)))
            launch(blocks, *addresses, *strides, count // size, columns // size)
        return joined

    def backward(self, dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of `gate` and `up`."""
        dgate = torch.empty_like(gate, memory_format=torch.contiguous_format)
        dup = torch.empty_like(dgate)
        count = dgate.numel()
        if count:
            # A gradient may be a view that vectors cannot read.
            dy = dy if takes(gate, dy) else dy.clone(memory_format=torch.contiguous_format)
            flat = dy.is_contiguous() and gate.is_contiguous() and up.is_contiguous()
            dy, gate, up = as_rows(dy), as_rows(gate), as_rows(up)
            launch, blocks = self._backward_launch(dgate.get_device(), dgate.dtype, dgate.nbytes, flat)
            size = VECTOR_BYTES // dgate.itemsize
            strides = (dy.stride(0), gate.stride(0), up.stride(0))
            addresses = (x.data_ptr() for x in (dy, gate, up, dgate, dup))
            launch(blocks, *addresses, *strides, count // size, gate.shape[1] // size)
        return dgate, dup


def takes(gate: Tensor, up: Tensor) -> bool:
    """Whether 16-byte vectors can read both, in place."""
    if not gate.numel():
        return True
    if gate.numel() * gate.itemsize // VECTOR_BYTES > MOST_VECTORS:
        return False
    if gate.is_contiguous() and up.is_contiguous():
        return whole_vectors(gate.itemsize, gate.numel()) and aligned(gate, up)
    gate, up = as_rows(gate), as_rows(up)
    return whole_vectors(gate.itemsize, gate.shape[1], gate.stride(0), up.stride(0)) and aligned(gate, up)
