"""Compiles Triton kernels for an AMD GPU as a launch there would, and executes them on CPU tensors."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as triton_compile

from hipward_kernels.dispatch import registry
from hipward_kernels.emulate.program import Report, kernel_name, run, value
from hipward_kernels.emulate.tiers import ops_with, use_tier
from hipward_kernels.gpu.facts import wavefront_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALIGNMENT = 16
"""Triton compiles another kernel for addresses and integers that are multiples of this."""

SCRATCH = bytes(8)
"""Triton passes the addresses of two scratch buffers, which are null for kernels without them."""

TYPES = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float64: "fp64",
    torch.float8_e4m3fnuz: "fp8e4b8",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
    torch.uint8: "u8",
}


def launch(
    arch: str,
    kernel: Any,
    grid: tuple[int, ...],
    arguments: Sequence[Any],
    constants: Mapping[str, Any],
    num_warps: int,
) -> Report:
    """Executes a Triton kernel on CPU tensors, which it changes in place.

    Args:
        arch: `gfx90a`, `gfx942` or `gfx950`.
        kernel: A function under `triton.jit`, whose `tl.constexpr` parameters come last.
        grid: Programs in each dimension.
        arguments: Arguments in the kernel's order.
        constants: The `tl.constexpr` parameters.
        num_warps: Wavefronts of a program.

    Raises:
        EmulationError: The machine code cannot be executed, or ended with an error.
    """
    types = tuple(map(_type, arguments))
    # Triton compiles the integer 1 into the code.
    ones = tuple(type(argument) is int and argument == 1 for argument in arguments)
    aligned = tuple(map(_is_aligned, arguments))
    compiled = _compiled(arch, kernel, types, ones, aligned, tuple(constants.items()), num_warps)
    listing = compiled.asm["amdgcn"]
    passed = [
        argument if isinstance(argument, Tensor) else value(argument, kind)
        for argument, kind, one in zip(arguments, types, ones, strict=True)
        if not one
    ]
    passed += [SCRATCH] * (_explicit_arguments(listing) - len(passed))
    x, y, z = (*grid, 1, 1)[:3]
    threads = num_warps * wavefront_of(arch)
    report = run(listing, passed, (x, y, z), (threads, 1, 1), lds=compiled.metadata.shared)
    return replace(report, kernel=kernel_name(Path(kernel.fn.__code__.co_filename), kernel.__name__))


def _type(argument: Any) -> str:
    if isinstance(argument, Tensor):
        return f"*{TYPES[argument.dtype]}"
    if isinstance(argument, float):
        return "fp32"
    return "i32" if -(2**31) <= argument < 2**31 else "i64"


def _is_aligned(argument: Any) -> bool:
    if isinstance(argument, Tensor):
        # A buffer of the emulator starts at a multiple of every alignment.
        return bool(argument.storage_offset() * argument.element_size() % ALIGNMENT == 0)
    return isinstance(argument, int) and argument % ALIGNMENT == 0


@lru_cache(maxsize=256)
def _compiled(
    arch: str,
    kernel: Any,
    types: tuple[str, ...],
    ones: tuple[bool, ...],
    aligned: tuple[bool, ...],
    constants: tuple[tuple[str, Any], ...],
    num_warps: int,
) -> Any:
    names = list(kernel.arg_names)
    signature = {name: "constexpr" if one else kind for name, kind, one in zip(names, types, ones, strict=False)}
    signature |= dict.fromkeys(dict(constants), "constexpr")
    values = {name: 1 for name, one in zip(names, ones, strict=False) if one} | dict(constants)
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    for position, (kind, one, divisible) in enumerate(zip(types, ones, aligned, strict=True)):
        found = [["tt.divisibility", ALIGNMENT]] if divisible and not one else []
        if kind.startswith("*"):
            # Tensors of at most 2 GiB.
            found.append(["tt.pointer_range", 32])
        if found:
            attributes[(position,)] = found
    source = ASTSource(kernel, {name: signature[name] for name in names}, values, attributes)
    options = {"num_warps": num_warps, "enable_fp_fusion": True}
    return triton_compile(source, target=GPUTarget("hip", arch, wavefront_of(arch)), options=options)


def _explicit_arguments(listing: str) -> int:
    """The number of arguments in the metadata that are not hidden."""
    return len(re.findall(r"\.value_kind:\s+(?:global_buffer|by_value)\s", listing))


@contextmanager
def triton_on(arch: str) -> Iterator[list[Report]]:
    """Executes the package's Triton kernels on the machine code of `arch`, for CPU tensors in this process.

    Yields:
        The reports of the launches, in their order.
    """
    reports: list[Report] = []

    def emulated(kernel: Any, grid: Any, arguments: Any, constants: Any, num_warps: int) -> None:
        reports.append(launch(arch, kernel, grid, arguments, constants, num_warps))

    replaced = {"launch": emulated, "warp_size_of": lambda _: wavefront_of(arch), "get_gfx": lambda *_: arch}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(registry, "_interpreting", return_value=True))
        for op in ops_with("triton"):
            use_tier(op, "triton", stack)
        for name, module in list(sys.modules.items()):
            if not (name.startswith("hipward_kernels.") and name.endswith(".triton")) or name == __name__:
                continue
            for attribute, replacement in replaced.items():
                if hasattr(module, attribute):
                    stack.enter_context(mock.patch.object(module, attribute, replacement))
        yield reports
