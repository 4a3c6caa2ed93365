"""The lines that the harness writes, and the only code that writes them.

Each method of `Lines` is one kind of `HarnessLine` in `runner/protocol/src/harness.rs`, or of `Measurement` beside it,
field by field; the two must agree. Nothing is decided here.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.harness.timing import Hot

VariantId = str
"""The name of a variant of the ladder; `variants.VARIANT_INFO` has them all."""

StopReason = Literal["converged", "sample-cap", "time-cap", "time-limit"]

FailureCode = Literal[
    "syntax-error",
    "contract-missing",
    "import-error",
    "init-error",
    "forward-error",
    "not-finite",
    "memory-limit",
    "process-limit",
    "timeout",
    "tampered",
    "internal",
]
"""The codes that the harness can find out; the runner knows more."""


@dataclass(frozen=True)
class VariantInfo:
    """What a variant is called and what it is: all that a runner or a page need know of it."""

    id: VariantId
    label: str
    about: str


@dataclass(frozen=True)
class Advice:
    """A setting of this host that costs time; see `hipward_kernels.environment.audit`."""

    setting: str
    found: str
    why: str
    command: str


@dataclass(frozen=True)
class Idle:
    """The device before anything runs on it. What cannot be read is None."""

    source: str | None
    """`NVML`, `sysfs` or `AMD SMI`."""
    unreadable: str | None
    """Why there is no source."""
    sm_mhz: int | None = None
    max_sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    busy_percent: float | None = None
    other_processes: int | None = None
    partition: str | None = None


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
    throttle: str
    """How samples of a slowed device are told, or why they are not."""
    idle: Idle
    audit: list[Advice]


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
    """Share of the elements whose error is above what the largest may be; of integers, that differ."""
    limit_used: float | None
    """Share of the limit that the larger of the two errors takes: above 1 it does not pass. None for integers."""


@dataclass(frozen=True)
class Precision:
    """The precision gate's answer for one variant."""

    passed: bool
    outputs: list[OutputError]
    seeds: int
    reference: str
    reason: str | None = None


@dataclass(frozen=True)
class Roofline:
    """The shortest time that `Model`'s work can take on this device."""

    bytes_read: int
    """Inputs and parameters that `Model` reads, each byte once."""
    bytes_written: int
    """Outputs, each byte once."""
    flops: int
    """Of matrix products, convolutions and attention, as `torch.utils.flop_counter` counts them."""
    copy_gbs: float
    """Measured: bytes read and written a second by a copy, 10**9."""
    bandwidth_gbs: float
    """What the floor is computed with: the most that this device can move."""
    bandwidth_from: str
    peak_tflops: float | None
    peak_from: str
    floor_ms: float
    bound: Literal["memory", "compute"]


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
        """No line carries a mark until `mark` was called."""
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
        self._mark: dict[str, str] = {}

    def mark(self, nonce: str) -> None:
        """Puts the job's secret on every line from now on: what writes lines blindly cannot know it."""
        self._mark = {"nonce": nonce}

    def _line(self, kind: str, **fields: object) -> None:
        if self._getpid() != self._process:
            # A snippet forked, and this is the copy: it must not run the job a second time.
            self._leave(1)
        line = {"type": kind, **self._mark, **{key: value for key, value in fields.items() if value is not None}}
        data = memoryview(self._encode(line).encode() + b"\n")
        while data:
            data = data[self._write(self._fd, data) :]

    def ready(self) -> None:
        """PyTorch is imported; a job may be sent."""
        self._line("ready")

    def accepted(self) -> None:
        """The job was read; nothing of it has run yet."""
        self._line("accepted")

    def variants(self, variants: Sequence[VariantInfo]) -> None:
        """The variants of this job, in ladder order, before any line that is about one."""
        self._line("variants", variants=[asdict(variant) for variant in variants])

    def environment(self, environment: Environment) -> None:
        """The conditions, before anything is measured."""
        self._line("environment", **asdict(environment))

    def unavailable(self, variant: VariantId, reason: str) -> None:
        """A variant cannot run here."""
        self._line("unavailable", variant=variant, reason=reason)

    def precision(self, variant: VariantId, precision: Precision) -> None:
        """A variant was compared with the reference."""
        self._line("precision", variant=variant, **asdict(precision))

    def roofline(self, roofline: Roofline) -> None:
        """What no variant can be faster than."""
        self._line("roofline", **asdict(roofline))

    def warning(self, text: str) -> None:
        """What a reader must know before believing the figures."""
        self._line("warning", text=text)

    def compile(
        self, variant: VariantId, seconds: float, based_on: Sequence[VariantId], includes: Sequence[str]
    ) -> None:
        """A variant is compiled and warm; `based_on` are the lower variants in it, `includes` what each step did."""
        self._line("compile", variant=variant, seconds=seconds, based_on=list(based_on), includes=list(includes))

    def samples(self, variant: VariantId, round_: int, ms: Sequence[float]) -> None:
        """Timings, in the order they were taken."""
        self._line("samples", variant=variant, round=round_, ms=list(ms))

    def sampled(self, variant: VariantId, stop: StopReason, dropped: int) -> None:
        """A variant's sampling ended; `dropped` samples were taken while the device was slowed."""
        self._line("sampled", variant=variant, stop=stop, dropped=dropped)

    def hot(self, variant: VariantId, hot: Hot) -> None:
        """What a call takes with warm caches."""
        self._line("hot", variant=variant, hot={"ms": hot.ms, "calls": hot.calls, "wall_ms": hot.wall_ms})

    def error(self, failure: Failure) -> None:
        """The job cannot go on. The last line."""
        self._line("error", **asdict(failure))

    def finished(self) -> None:
        """All variants ended. The last line."""
        self._line("finished")
