"""The lines that the harness writes, and the only code that writes them.

Each method of `Lines` is one kind of `HarnessLine` in `runner/protocol/src/event.rs`, field by field; the two must
agree. Nothing is decided here.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Variant = Literal["eager", "eager-control", "compile", "fused-ops", "fused-projections", "model-new"]
"""One rung of the ladder; `VARIANTS` has them in ladder order."""

VARIANTS: tuple[Variant, ...] = (
    "eager",
    "eager-control",
    "compile",
    "fused-ops",
    "fused-projections",
    "model-new",
)

StopReason = Literal["converged", "sample-cap", "time-cap"]

FailureCode = Literal[
    "syntax-error",
    "contract-missing",
    "import-error",
    "init-error",
    "forward-error",
    "not-finite",
    "memory-limit",
    "process-limit",
    "internal",
]
"""The codes that the harness can find out; the runner knows more."""


@dataclass(frozen=True)
class Environment:
    """The conditions of a measurement."""

    device_name: str
    arch: str
    torch: str
    triton: str | None
    hip: str | None
    cuda: str | None
    driver: str | None
    python: str
    threads: int
    clock: str
    clock_overhead_ms: float
    cache: str
    stop_rule: str
    variables: list[tuple[str, str]]


@dataclass(frozen=True)
class OutputError:
    """How far one output tensor is from the reference."""

    name: str
    shape: list[int]
    dtype: str
    cosine: float
    max_abs: float
    rms: float
    eager_max_abs: float
    eager_rms: float
    mismatch: float


@dataclass(frozen=True)
class Precision:
    """The precision gate's answer for one rung."""

    passed: bool
    outputs: list[OutputError]
    seeds: int
    reference: str
    reason: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why a job cannot go on."""

    code: FailureCode
    message: str
    help: str
    traceback: str | None = None


class Lines:
    """Writes lines to a file descriptor, which it takes over."""

    def __init__(self, fd: int) -> None:
        # A high, random number that children do not inherit: out of the way of a snippet that closes or
        # writes to descriptors it did not open. It shares our process, so this is no wall.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, min(64 + secrets.randbelow(128), most // 2))
        os.close(fd)
        # Bound now: a snippet may replace what `os` and `json` hold.
        self._write = os.write
        self._encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
        self._leave = os._exit
        self._process = os.getpid()
        self._getpid = os.getpid

    def _line(self, kind: str, **fields: object) -> None:
        if self._getpid() != self._process:
            # A snippet forked, and this is the copy: it must not run the job a second time.
            self._leave(1)
        line = {"type": kind, **{key: value for key, value in fields.items() if value is not None}}
        data = memoryview(self._encode(line).encode() + b"\n")
        while data:
            data = data[self._write(self._fd, data) :]

    def ready(self) -> None:
        """PyTorch is imported; a job may be sent."""
        self._line("ready")

    def environment(self, environment: Environment) -> None:
        """The conditions, before anything is measured."""
        self._line("environment", **asdict(environment))

    def unavailable(self, variant: Variant, reason: str) -> None:
        """A rung cannot run here."""
        self._line("unavailable", variant=variant, reason=reason)

    def precision(self, variant: Variant, precision: Precision) -> None:
        """A rung was compared with the reference."""
        self._line("precision", variant=variant, **asdict(precision))

    def compile(self, variant: Variant, seconds: float) -> None:
        """A rung is compiled and warm."""
        self._line("compile", variant=variant, seconds=seconds)

    def samples(self, variant: Variant, round_: int, ms: Sequence[float]) -> None:
        """Timings, in the order they were taken."""
        self._line("samples", variant=variant, round=round_, ms=list(ms))

    def sampled(self, variant: Variant, stop: StopReason) -> None:
        """A rung's sampling ended. No sample was dropped: the harness does not read clocks of the device."""
        self._line("sampled", variant=variant, stop=stop, dropped=0)

    def error(self, failure: Failure) -> None:
        """The job cannot go on. The last line."""
        self._line("error", **asdict(failure))

    def finished(self) -> None:
        """All rungs ended. The last line."""
        self._line("finished")


def parse_variants(names: Sequence[Any]) -> list[Variant]:
    """The named rungs in ladder order, each once; always with `eager`."""
    if unknown := [name for name in names if name not in VARIANTS]:
        raise ValueError(f"unknown variants: {unknown}; known are {', '.join(VARIANTS)}")
    return [variant for variant in VARIANTS if variant == "eager" or variant in names]
