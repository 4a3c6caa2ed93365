"""Shared code for launches of row-wise kernels: views of rows, block sizes, warps, and a faster Triton launch.

The functions that compute launch sizes are pure, so that cross-compilation uses the same sizes as a launch on the GPU.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.dispatch.cache import DispatchCache
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.jit.grid import check_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

COLUMN_BLOCK = 4096
"""Columns per iteration if a program does not process a whole row at once."""

LONGEST_ROW = {32: 32768, 64: 16384}
"""Longest row that a program without partial gradients loads into registers, by lanes of a warp. On AMD GPUs a program
with a longer row is the only one whose registers fit on a compute unit, and memory is idle while it reduces."""

ELEMENTS_PER_THREAD = 16
"""Two 16-byte loads of bfloat16 per thread. More threads would make the loads narrower."""

MAX_THREADS = 1024

AMD_LANES = 64
"""Lanes of a wavefront up to gfx950."""

RESIDENT_THREADS = 1024
"""Threads of a norm's backward that a compute unit of an AMD GPU runs at the same time: with 100 to 128 registers, four
wavefronts on each of its four SIMDs (`results/amd_code.csv`)."""

PROGRAMS_PER_COMPUTE_UNIT = 4
"""Programs of a norm's backward for a multiprocessor of an NVIDIA GPU: enough to hide the latency of memory, few enough
for small partial gradients."""

INTERPRETING = os.environ.get("TRITON_INTERPRET") == "1"


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least `n`, for n >= 1."""
    return 1 << (n - 1).bit_length()


def row_block(columns: int, limit: int) -> int:
    """Columns that a program processes at once: the whole row up to `limit` columns."""
    return next_power_of_two(columns) if columns <= limit else COLUMN_BLOCK


def row_limit(warp_size: int) -> int:
    """The row of `LONGEST_ROW`; 32 lanes for the CPU."""
    return LONGEST_ROW[warp_size]


def warps(block: int, warp_size: int) -> int:
    """Warps (AMD: wavefronts) for `block` elements: the most threads with which loads are 16 bytes wide."""
    threads = min(max(block // ELEMENTS_PER_THREAD, warp_size), MAX_THREADS)
    return threads // warp_size


@lru_cache(maxsize=64)
def _warp_size(device_index: int) -> int:
    return wavefront_of(get_gfx(device_index))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def warp_size_of(device_index: int) -> int:
    """Threads of a warp of a GPU, from `gpus.toml`: 64 on CDNA GPUs up to gfx950, 32 on other AMD and NVIDIA GPUs.

    It sizes launches; no result depends on it. It is 32 for the CPU, whose index is -1.
    """
    return _warp_size(device_index)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def compute_units(device_index: int) -> int:
    """Compute units (NVIDIA: streaming multiprocessors) of a GPU; a few for the CPU, whose index is -1."""
    return torch.cuda.get_device_properties(device_index).multi_processor_count if device_index >= 0 else 4


def resident_workgroups(threads: int) -> int:
    """Workgroups of a norm's backward on a compute unit of an AMD GPU: as many as run at the same time.

    Each has partial gradients of its own, and one that waits for another's end hides no latency.
    """
    return max(RESIDENT_THREADS // threads, 1)


def backward_programs(rows: int, num_warps: int, warp_size: int, units: int) -> int:
    """Programs of a norm's backward in Triton, each of which adds up the gradients of its rows."""
    per_unit = resident_workgroups(num_warps * warp_size) if warp_size == AMD_LANES else PROGRAMS_PER_COMPUTE_UNIT
    return min(rows, units * per_unit)


def as_rows(x: Tensor) -> Tensor:
    """`x` as a matrix of rows of its last dimension: a view if the strides allow it, else a copy.

    `x` must not be empty. The columns of the result are contiguous; its rows may have any stride.
    """
    if x.dim() == 2 and x.stride(1) == 1:
        return x
    rows = x.reshape(-1, x.shape[-1]) if x.dim() else x.reshape(1, 1)
    return rows if rows.stride(1) == 1 or rows.shape[1] == 1 else rows.contiguous()


def contiguous_like(x: Tensor) -> Tensor:
    """An uninitialized contiguous tensor with the shape, dtype and device of `x`."""
    # The usual case is first: passing a memory format takes PyTorch 50 % longer.
    return torch.empty_like(x) if x.is_contiguous() else torch.empty_like(x, memory_format=torch.contiguous_format)


def launch_device(x: Tensor) -> AbstractContextManager[object]:
    """Context in which the device of `x` is current, because Triton launches on the current device."""
    if torch.compiler.is_compiling() or not x.is_cuda or x.get_device() == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(x.device)


_compiled: DispatchCache[Any] = DispatchCache()

LARGEST_OFFSET = 2**31 - 1
"""Largest signed 32-bit offset, in bytes."""


def tensor_specialization(backend: Any) -> Callable[[Tensor], Hashable] | None:
    """A function that returns the properties of a tensor that a Triton backend specializes kernels for, or None.

    Dtype, and whether the address is a multiple of 16, are not among them. AMD's backend compiles 32-bit offsets for a
    tensor whose storage is at most 2 GiB. Launched on a larger one, that kernel would read zeros beyond the range and
    drop its stores.
    """
    from triton.backends.compiler import BaseBackend  # noqa: PLC0415 - the HIP kernels work without Triton

    own = getattr(backend, "get_tensor_specialization", None)
    # AMD's property, or a Triton with another interface. The backend's own function takes six times as long.
    if own is None or hasattr(backend, "is_within_2gb"):
        return _beyond_offsets
    return None if own is getattr(BaseBackend, "get_tensor_specialization", None) else own


def _beyond_offsets(x: Tensor) -> bool:
    return x.untyped_storage().nbytes() > LARGEST_OFFSET


@lru_cache(maxsize=1)
def _specialization() -> Callable[[Tensor], Hashable] | None:
    """`tensor_specialization` of the GPUs of this process."""
    from triton.compiler import make_backend  # noqa: PLC0415
    from triton.runtime import driver  # noqa: PLC0415

    return tensor_specialization(make_backend(driver.active.get_current_target()))


def launch(
    kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], constants: Mapping[str, Any], num_warps: int
) -> None:
    """Launches a Triton kernel on the current device; after the first launch several times faster than Triton does.

    A compiled kernel depends on the dtypes of tensors, on whether their addresses and the numbers are multiples of 16,
    on other properties that the backend specializes for (`tensor_specialization`), on the types of the numbers, and on
    the constants. It is cached under all of these (numbers by value) and then launched by its own launcher. It does not
    depend on the grid, nor on shapes and strides that are not arguments.

    Args:
        kernel: A function under `triton.jit`, whose `tl.constexpr` parameters come last.
        grid: Programs in each dimension.
        arguments: Arguments in the kernel's order.
        constants: The `tl.constexpr` parameters, in the kernel's order.
        num_warps: Warps of a program.

    Raises:
        GridError: The grid exceeds the limits of the device.
    """
    if torch.compiler.is_compiling() or INTERPRETING:
        kernel[grid](*arguments, **constants, num_warps=num_warps)
        return
    device = torch._C._cuda_getDevice()  # noqa: SLF001 - torch.cuda.current_device(), without its check
    check_grid(grid, num_warps * _warp_size(device))
    asks = _specialization()
    key: list[Any] = [kernel, device, num_warps, *constants.values()]
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            address = argument.data_ptr()
            values.append(address)
            key += (argument.dtype, address % 16 == 0)
            if asks is not None:
                key.append(asks(argument))
        else:
            values.append(argument)
            # 1 and 1.0 are equal as keys, but Triton compiles them differently.
            key += (argument, type(argument))
    arguments_key = tuple(key)
    found = _compiled.get(arguments_key)
    if found is None:
        _compiled.store(arguments_key, kernel[grid](*arguments, **constants, num_warps=num_warps))
        return
    stream = torch._C._cuda_getCurrentRawStream(device)  # noqa: SLF001 - what Triton itself uses
    x, y, z = (*grid, 1, 1)[:3]
    found.run(x, y, z, stream, found.function, found.packed_metadata, None, None, None, *values, *constants.values())
