"""Runs a kernel of an assembly listing with the program `hipward-emulate`."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

PROGRAM = "hipward-emulate"

SUBCOMMAND = "emulate-launch"
"""Subcommand of `hipward` that does the same."""

Argument = Tensor | bytes
"""A tensor, whose address is passed, or the bytes of a value."""


class EmulationError(RuntimeError):
    """A kernel could not be executed, or ended with an error."""


@dataclass(frozen=True)
class Finding:
    """A problem that the emulator found: the fields of its report."""

    kind: str
    line: int
    source: str | None
    workgroup: list[int]
    wavefront: int
    lanes: str
    message: str
    occurrences: int


@dataclass(frozen=True)
class Report:
    """What a run found and executed."""

    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    kernel: str = ""
    """File and name of a kernel of this package: `rmsnorm/triton.py backward_kernel`."""


def command() -> list[str]:
    """The emulator's command line: `HIPWARD_EMULATE`, the build folder of cargo, or the search path.

    It is the program `hipward-emulate`, or the program `hipward`, which contains it.

    Raises:
        EmulationError: There is none.
    """
    if own := os.environ.get("HIPWARD_EMULATE"):
        if not os.access(own, os.X_OK) or Path(own).is_dir():
            raise EmulationError(f"HIPWARD_EMULATE is {own}, which is not a program; set it to {PROGRAM}, or unset it")
        return [own] if Path(own).name.startswith(PROGRAM) else [own, SUBCOMMAND]
    repository = Path(__file__).parents[3]
    targets = [repository / "target", Path.home() / ".cache" / "hipward" / "target"]
    if chosen := os.environ.get("CARGO_TARGET_DIR"):
        targets.insert(0, Path(chosen))
    for target in targets:
        for profile in ("release", "debug"):
            if (built := target / profile / PROGRAM).is_file():
                return [str(built)]
    if found := shutil.which(PROGRAM):
        return [found]
    if found := shutil.which("hipward"):
        return [found, SUBCOMMAND]
    raise EmulationError(f"{PROGRAM} is not built; run `cargo build --package hipward-emulator` in the repository")


def kernel_name(file: Path, name: str) -> str:
    """Name of a kernel in reports."""
    return f"{file.parent.name}/{file.name} {name}"


def value(number: float, kind: str) -> bytes:
    """The bytes of a number as an argument of a Triton type, such as `i32` or `fp32`."""
    formats = {"i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u32": "I", "u64": "Q"}
    return struct.pack("<" + {**formats, "fp32": "f", "fp64": "d"}[kind], number)


def run(
    listing: str,
    arguments: Sequence[Argument],
    grid: tuple[int, int, int],
    workgroup: tuple[int, int, int],
    *,
    kernel: str | None = None,
    lds: int = 0,
    budget: int = 1 << 32,
) -> Report:
    """Executes a kernel on CPU tensors, which it changes in place.

    Args:
        listing: The assembly text.
        arguments: Tensors, of which the address is passed, and bytes of values, in the kernel's order.
        grid: Workgroups in each dimension.
        workgroup: Work-items in each dimension.
        kernel: The kernel's name; needed if the listing has several.
        lds: Bytes of LDS beyond those that the code declares.
        budget: Most instructions that the wavefronts execute together.

    Raises:
        EmulationError: The kernel cannot be executed, or it ended with an error.
    """
    answer = execute(listing, arguments, grid, workgroup, kernel=kernel, lds=lds, budget=budget)
    if error := answer["error"]:
        source = f" ({error['source']})" if error["source"] else ""
        raise EmulationError(f"line {error['line']}{source}: {error['message']}")
    return Report([Finding(**finding) for finding in answer["findings"]], answer["counts"])


def execute(
    listing: str,
    arguments: Sequence[Argument],
    grid: tuple[int, int, int],
    workgroup: tuple[int, int, int],
    *,
    kernel: str | None = None,
    lds: int = 0,
    budget: int = 1 << 32,
    names: Sequence[str] = (),
    uninitialized: Collection[int] = (),
    watch: Sequence[tuple[int, int]] = (),
) -> dict[str, Any]:
    """Executes a kernel like `run`, and returns the emulator's answer, also if the kernel ended with an error.

    Args:
        listing: See `run`, as the following.
        arguments: Tensors and bytes.
        grid: Workgroups.
        workgroup: Work-items.
        kernel: The kernel's name.
        lds: Bytes of LDS.
        budget: Most instructions.
        names: The arguments' names for messages; without them `argument 0` and so on.
        uninitialized: Positions of tensors among the arguments whose memory counts as never written.
        watch: Elements, as an argument's position and an index, for which `writers` has the lane that stored last.

    Raises:
        EmulationError: The kernel cannot be executed.
    """
    storages = _storages(arguments, names)
    with _files(1 + len(storages)) as (files, descriptors):
        code, *paths = files
        Path(code).write_text(listing, encoding="utf-8")
        places = [_argument(argument, list(storages)) for argument in arguments]
        unwritten = {places[position]["address"][0] for position in uninitialized}
        buffers: list[dict[str, Any]] = [
            {"name": name, "file": path, "uninitialized": at in unwritten}
            for at, (path, (name, _)) in enumerate(zip(paths, storages.values(), strict=True))
        ]
        for buffer, (_, contents) in zip(buffers, storages.values(), strict=True):
            contents.numpy().tofile(buffer["file"])
        description = {
            "listing": code,
            "kernel": kernel,
            "grid": grid,
            "workgroup": workgroup,
            "lds": lds,
            "budget": budget,
            "buffers": buffers,
            "arguments": places,
            "watch": [_element(arguments[position], places[position], index) for position, index in watch],
        }
        done = subprocess.run(  # noqa: S603 - the program of this repository
            command(),
            input=json.dumps(description),
            capture_output=True,
            text=True,
            check=False,
            pass_fds=descriptors,
        )
        if not done.stdout:
            raise EmulationError(
                done.stderr.strip().removeprefix(f"{PROGRAM}: ") or f"{PROGRAM} ended with {done.returncode}"
            )
        answer: dict[str, Any] = json.loads(done.stdout)
        for path, (_, contents) in zip(paths, storages.values(), strict=True):
            with Path(path).open("rb") as file:
                file.readinto(contents.numpy().data)
    return answer


@contextmanager
def _files(count: int) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Paths of new files, and the descriptors that the emulator needs for them.

    They are in memory, which is faster than a disk, or in a temporary folder where that is not possible: a sandbox may
    refuse the system call, and only Linux has it.
    """
    with ExitStack() as stack:
        try:
            descriptors = _in_memory(count, stack)
        except (AttributeError, OSError):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            yield [str(folder / str(at)) for at in range(count)], ()
        else:
            yield [_path(descriptor) for descriptor in descriptors], tuple(descriptors)


def _in_memory(count: int, stack: ExitStack) -> list[int]:
    descriptors = []
    for _ in range(count):
        descriptors.append(os.memfd_create(PROGRAM))
        stack.callback(os.close, descriptors[-1])
        os.close(os.open(_path(descriptors[-1]), os.O_RDWR))
    return descriptors


def _path(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _element(argument: Argument, place: dict[str, Any], index: int) -> tuple[int, int]:
    """The buffer of an element of a contiguous tensor, and its byte offset."""
    buffer, offset = place["address"]
    return buffer, offset + index * (argument.element_size() if isinstance(argument, Tensor) else 1)


def _storages(arguments: Sequence[Argument], names: Sequence[str]) -> dict[int, tuple[str, Tensor]]:
    """Name and bytes of each storage, by its address. Tensors that share memory share a buffer."""
    storages: dict[int, tuple[str, Tensor]] = {}
    for position, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            storage = argument.detach().untyped_storage()
            contents = torch.empty(0, dtype=torch.uint8).set_(storage)
            name = names[position] if names else f"argument {position}"
            storages.setdefault(storage.data_ptr(), (name, contents))
    return storages


def _argument(argument: Argument, storages: list[int]) -> dict[str, Any]:
    if isinstance(argument, bytes):
        return {"value": argument.hex()}
    storage = argument.untyped_storage().data_ptr()
    return {"address": [storages.index(storage), argument.storage_offset() * argument.element_size()]}
