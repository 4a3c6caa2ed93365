"""Answers in HIP: compiled for gfx942 by clang, and executed on the CPU by the emulator.

A judge's case gets a `Kernel` as its answer:

    def case_rows(answer, random):
        \"\"\"Every row has its sum\"\"\"
        x = tensor(random, 4, 256)
        run = answer.launch("row_sums", {"x": x, "y": uninitialized(4), "n": 256}, grid=4, block=256)
        run.expect_close("y", x.double().sum(1), rtol=1e-5)

The learner's code runs in the emulator only, never in the process of the judge.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.compile import from_hip
from hipward_kernels.compile.failure import CompileError
from hipward_kernels.compile.request import Request
from hipward_kernels.emulate.program import EmulationError, command, execute
from hipward_kernels.exercise.assertions import ExpectationError, Unavailable, differing, expect_close
from hipward_kernels.exercise.folder import ARCH
from hipward_kernels.exercise.result import MOST_NOTES, Note, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

BUDGET = 1 << 20
"""Most instructions that the wavefronts of a launch execute together. Far more than an exercise needs."""

_WATCHED = 4096
"""Differing elements for which the storing lane is looked up."""

_ERROR = re.compile(rf"^(?:\./)?{re.escape(from_hip.SOURCE)}:(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)
_HINT_KINDS = frozenset({"misaligned"})
"""Findings that are shown, but do not fail a case."""


class NotCompiledError(Exception):
    """The answer does not compile; the text is the first error."""

    def __init__(self, message: str, line: int | None, output: str) -> None:
        super().__init__(message)
        self.line = line
        self.output = output
        """Everything that the compiler printed."""


@dataclass(frozen=True)
class Output:
    """A buffer that no host has written; see `uninitialized`."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def uninitialized(*shape: int, dtype: torch.dtype = torch.float32) -> Output:
    """A buffer for a result. A kernel that reads an element before it has written it has a finding."""
    return Output(shape, dtype)


@dataclass(frozen=True)
class Access:
    """Counts of one memory instruction."""

    instruction: str
    """Its name in the machine code, such as `global_load_dwordx4`."""
    line: int | None
    """Line of the learner's file."""
    executions: int
    """How often a wavefront executed it."""
    bytes: int
    """Bytes that the lanes accessed."""
    segments: int
    """Global memory: 64-byte segments of each execution, summed."""
    bank_conflicts: int
    """LDS: additional cycles because lanes access different words of a bank."""


class Kernel:
    """A compiled HIP file."""

    def __init__(self, listing: str) -> None:
        """`listing` is the assembly text."""
        self._listing = listing
        self._texts = listing.splitlines()
        self.notes: list[Note] = []
        """The findings of the launches so far."""
        self.faulty = False
        """Whether a finding is an error."""

    def launch(
        self,
        name: str,
        arguments: Mapping[str, torch.Tensor | Output | float],
        *,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        lds: int = 0,
        budget: int = BUDGET,
    ) -> Run:
        """Executes a kernel.

        Args:
            name: The kernel, which is `extern "C"`.
            arguments: Arguments in the kernel's order, by name: contiguous tensors and `uninitialized` buffers, of
                which the kernel gets the address; an `int` for an int, a `float` for a float. Tensors stay unchanged.
            grid: Workgroups.
            block: Threads of a workgroup.
            lds: Bytes of dynamic LDS.
            budget: Most instructions of all wavefronts.

        Raises:
            ExpectationError: The kernel ended with an error, such as an endless loop.
            Unavailable: There is no emulator on this machine.
        """
        launch = _Launch(self._listing, name, dict(arguments), _three(grid), _three(block), lds, budget)
        answer, contents = launch.execute()
        self._record(answer["findings"])
        if error := answer["error"]:
            text = f"The kernel was stopped: {error['message']}."
            if "did not end" in text:
                text += " A loop may not end, or a thread may wait for another one."
            elif "past the last instruction" in text:
                text += " A loop may not end: the compiler removes the code behind a loop without an end."
            raise ExpectationError(text, line_of(error.get("source")))
        return Run(launch, contents, [self._access(access) for access in answer["counts"]["accesses"]])

    def _record(self, findings: Sequence[dict[str, Any]]) -> None:
        for finding in findings:
            self.faulty |= finding["kind"] not in _HINT_KINDS
            times = f", {finding['occurrences']} times" if finding["occurrences"] > 1 else ""
            place = f"lanes {ranges(int(finding['lanes'], 16))} of {_wavefront(finding)}{times}"
            note = Note(line_of(finding["source"]), shortened(f"{finding['kind']}: {finding['message']} ({place})"))
            if len(self.notes) < MOST_NOTES and all((note.line, finding["kind"]) != known for known in self._known()):
                self.notes.append(note)

    def _known(self) -> list[tuple[int | None, str]]:
        return [(note.line, note.message.partition(":")[0]) for note in self.notes]

    def _access(self, counts: dict[str, Any]) -> Access:
        words = self._texts[counts["line"] - 1].split() if 0 < counts["line"] <= len(self._texts) else []
        return Access(
            instruction=words[0] if words else "",
            line=line_of(counts.get("source")),
            executions=counts["executions"],
            bytes=counts["bytes"],
            segments=counts["segments64"],
            bank_conflicts=counts["bank_conflicts"],
        )


class Run:
    """A finished launch: `run["y"]` is the tensor `y` after it."""

    def __init__(self, launch: _Launch, contents: dict[str, torch.Tensor], accesses: list[Access]) -> None:
        """Built by `Kernel.launch`."""
        self._launch = launch
        self._contents = contents
        self.accesses = accesses
        """The memory instructions that were executed."""

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._contents[name]

    @property
    def loads(self) -> list[Access]:
        """The loads from global memory by vector instructions."""
        return [access for access in self.accesses if re.match(r"(global|flat|buffer)_load", access.instruction)]

    @property
    def stores(self) -> list[Access]:
        """The stores to global memory."""
        return [access for access in self.accesses if re.match(r"(global|flat|buffer)_store", access.instruction)]

    @property
    def bank_conflicts(self) -> int:
        """Additional cycles of all LDS instructions."""
        return sum(access.bank_conflicts for access in self.accesses)

    def expect_close(self, name: str, expected: Any, *, atol: float = 0.0, rtol: float = 0.0) -> None:
        """Fails the case unless a buffer equals `expected` within `atol + rtol * |expected|`, see `expect_close`.

        The message also names the lane that stored the first differing element, and all lanes with a difference.
        """
        try:
            expect_close(self._contents[name], expected, atol=atol, rtol=rtol, what=name)
        except ExpectationError as error:
            indices = differing(self._contents[name], expected, atol=atol, rtol=rtol)
            if not indices:
                raise
            writers = self._launch.writers(name, indices[:_WATCHED])
            raise ExpectationError(f"{error}. {_stored(name, writers)}", _first_line(writers)) from None


class _Launch:
    """The arguments of a launch, which may be executed several times."""

    def __init__(
        self,
        listing: str,
        kernel: str,
        arguments: dict[str, torch.Tensor | Output | float],
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        lds: int,
        budget: int,
    ) -> None:
        self._listing, self._kernel, self._arguments = listing, kernel, arguments
        self._grid, self._block, self._lds, self._budget = grid, block, lds, budget

    def execute(self, watch: Sequence[tuple[int, int]] = ()) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """The emulator's answer, and the contents of the buffers afterwards."""
        passed = [_passed(argument) for argument in self._arguments.values()]
        outputs = [at for at, argument in enumerate(self._arguments.values()) if isinstance(argument, Output)]
        try:
            command()
        except EmulationError as error:
            raise Unavailable(f"The emulator is missing: {error}.") from None
        try:
            answer = execute(
                self._listing,
                passed,
                self._grid,
                self._block,
                kernel=self._kernel,
                lds=self._lds,
                budget=self._budget,
                names=list(self._arguments),
                uninitialized=outputs,
                watch=watch,
            )
        except EmulationError as error:
            raise ExpectationError(f"The emulator cannot execute the kernel `{self._kernel}`: {error}") from None
        pairs = zip(self._arguments, passed, strict=True)
        return answer, {name: value for name, value in pairs if isinstance(value, torch.Tensor)}

    def writers(self, name: str, indices: list[int]) -> list[dict[str, Any] | None]:
        """The lane that stored last to each of these elements of a buffer."""
        position = list(self._arguments).index(name)
        answer, _ = self.execute([(position, index) for index in indices])
        found: list[dict[str, Any] | None] = answer["writers"]
        return found


def compile_answer(path: Path, directory: Path) -> Kernel:
    """Compiles a HIP file.

    Args:
        path: The file.
        directory: Where the compiler works. With `headers-gfx942.pch` (`compile/headers.py`) it is faster.

    Raises:
        NotCompiledError: The file does not compile.
        Unavailable: There is no compiler for gfx942 on this machine.
    """
    source = path.read_text(encoding="utf-8")
    try:
        (target,) = from_hip.compile_source(Request("hip", source, (ARCH,)), directory).targets
        failure = target.error
    except CompileError as error:
        failure = error.failure
    if failure is None:
        return Kernel(target.texts["amdgcn"])
    if failure.code != "source-error":
        raise Unavailable(f"{failure.message} {failure.help}")
    found = _ERROR.search(failure.message)
    message = found[2] if found else failure.message.partition("\n")[0]
    raise NotCompiledError(message, int(found[1]) if found else failure.line, failure.message)


def line_of(source: str | None) -> int | None:
    """The line of the learner's file in the emulator's `FILE:LINE`; None for a header."""
    file, _, line = (source or "").rpartition(":")
    return int(line) if file.removeprefix("./") == from_hip.SOURCE and line.isdigit() else None


def ranges(lanes: int) -> str:
    """`0-15, 32` for the bits 0 to 15 and 32."""
    found: list[list[int]] = []
    for lane in (lane for lane in range(64) if lanes >> lane & 1):
        if found and lane == found[-1][1] + 1:
            found[-1][1] = lane
        else:
            found.append([lane, lane])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _stored(name: str, writers: list[dict[str, Any] | None]) -> str:
    first = writers[0]
    if first is None:
        return f"No thread stores {name} there"
    lanes = 0
    for writer in filter(None, writers):
        lanes |= 1 << writer["lane"] % 64
    text = f"Stored by lane {first['lane']} of {_wavefront(first)}; lanes with a difference: {ranges(lanes)}"
    if lanes and not lanes & 0xFFFFFFFF:
        text += ". Only lanes 32 to 63 differ: the code may assume 32 lanes"
    return text


def _first_line(writers: list[dict[str, Any] | None]) -> int | None:
    return next((line for writer in writers if writer and (line := line_of(writer["source"]))), None)


def _wavefront(place: dict[str, Any]) -> str:
    return f"wavefront {place['wavefront']} of workgroup {place['workgroup']}"


def _three(size: int | tuple[int, int, int]) -> tuple[int, int, int]:
    return (size, 1, 1) if isinstance(size, int) else size


def _passed(argument: torch.Tensor | Output | float) -> torch.Tensor | bytes:
    if isinstance(argument, Output):
        # An element that is never stored differs from every expected number.
        fill = math.nan if argument.dtype.is_floating_point else 0
        return torch.full(argument.shape, fill, dtype=argument.dtype)
    if isinstance(argument, torch.Tensor):
        return argument.detach().contiguous().clone()
    return struct.pack("<f" if isinstance(argument, float) else "<i", argument)
