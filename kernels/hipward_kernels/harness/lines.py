"""The lines of the harness protocol, and the only code that writes them.

Each method of `Lines` writes one kind of `HarnessLine` of `runner/protocol/src/harness.rs`, or of `Measurement` beside
it; the fields must agree.
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
"""The name of a variant; `variants.VARIANT_INFO` lists all of them."""

StopReason = Literal["converged", "sample-cap", "time-cap", "time-limit"]

Step = Literal[
    "load",
    "reference",
    "roofline",
    "compile",
    "precision",
    "warm-up",
    "step-cost",
    "input-dependence",
    "timing",
    "warm-caches",
    "model-alone",
]
"""The steps of a job, as described at `Step` in `runner/protocol/src/measurement.rs`."""

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
"""Codes of failures that the harness reports; the runner has further ones."""


@dataclass(frozen=True)
class VariantInfo:
    """Name and description of a variant, for the runner and pages."""

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
    """Sensor readings of the device before anything runs on it. A figure that cannot be read is None."""

    source: str | None
    """`NVML`, `sysfs` or `AMD SMI`."""
    unreadable: str | None
    """Why the sensors cannot be read."""
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
    """How samples of a throttled device are recognized, or why they are not."""
    idle: Idle
    audit: list[Advice]


@dataclass(frozen=True)
class OutputError:
    """Errors of one output tensor against the reference."""

    name: str
    shape: list[int]
    dtype: str
    cosine: float
    max_abs: float
    rms: float
    eager_max_abs: float
    eager_rms: float
    mismatch: float
    """Share of the elements whose error is above the largest allowed error; of integers, share that differ."""
    limit_used: float | None
    """The larger of the two errors relative to its limit: above 1 it does not pass. None for integers."""


@dataclass(frozen=True)
class Precision:
    """Result of the precision gate for one variant."""

    passed: bool
    outputs: list[OutputError]
    seeds: int
    reference: str
    reason: str | None = None


@dataclass(frozen=True)
class Roofline:
    """The shortest possible time of `Model` on this device."""

    bytes_read: int
    """Inputs and parameters that `Model` reads, each byte once."""
    bytes_written: int
    """Outputs, each byte once."""
    flops: int
    """Operations of matrix products, convolutions and attention, as counted by `torch.utils.flop_counter`."""
    copy_gbs: float
    """Measured bandwidth of a copy: bytes read and written, in 10**9 per second."""
    bandwidth_gbs: float
    """The bandwidth that the floor is computed with: an upper bound for this device."""
    bandwidth_source: str
    peak_tflops: float | None
    peak_source: str
    floor_ms: float
    bound: Literal["memory", "compute"]


@dataclass(frozen=True)
class Failure:
    """Why a job cannot continue."""

    code: FailureCode
    message: str
    help: str
    traceback: str | None = None


class Lines:
    """Writes lines to a file descriptor, which it takes ownership of."""

    def __init__(self, fd: int) -> None:
        """Lines have no nonce until `mark` is called."""
        # A high, random descriptor that children do not inherit, so that a snippet that closes or writes to foreign
        # descriptors does not hit it by accident. This is no protection against code in the same process.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, min(64 + secrets.randbelow(128), most // 2))
        os.close(fd)
        # Bound now, because a snippet may replace functions of `os` and `json`.
        self._write = os.write
        self._encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
        self._leave = os._exit
        self._process = os.getpid()
        self._getpid = os.getpid
        self._mark: dict[str, str] = {}

    def mark(self, nonce: str) -> None:
        """Adds the job's nonce to every line from now on, so that forged lines are recognized."""
        self._mark = {"nonce": nonce}

    def _line(self, kind: str, **fields: object) -> None:
        if self._getpid() != self._process:
            # The snippet forked, and this is the child: it must not run the job a second time.
            self._leave(1)
        line = {"type": kind, **self._mark, **{key: value for key, value in fields.items() if value is not None}}
        # Texts of a snippet may contain lone surrogates, which UTF-8 does not have.
        data = memoryview(self._encode(line).encode(errors="replace") + b"\n")
        while data:
            data = data[self._write(self._fd, data) :]

    def ready(self) -> None:
        """PyTorch is imported; the worker accepts a job."""
        self._line("ready")

    def accepted(self) -> None:
        """The job was read; its code has not run yet."""
        self._line("accepted")

    def variants(self, variants: Sequence[VariantInfo]) -> None:
        """The variants of this job, in order of measurement; precedes all lines about a variant."""
        self._line("variants", variants=[asdict(variant) for variant in variants])

    def environment(self, environment: Environment) -> None:
        """The conditions; precedes all measurements."""
        self._line("environment", **asdict(environment))

    def step(self, step: Step, variant: VariantId | None = None) -> None:
        """A step starts: of one variant, or of the whole job. Never written while a call is timed."""
        self._line("step", step=step, variant=variant)

    def unavailable(self, variant: VariantId, reason: str) -> None:
        """A variant cannot run here."""
        self._line("unavailable", variant=variant, reason=reason)

    def precision(self, variant: VariantId, precision: Precision) -> None:
        """A variant was compared with the reference."""
        self._line("precision", variant=variant, **asdict(precision))

    def roofline(self, roofline: Roofline) -> None:
        """The lower bound of the time of every variant."""
        self._line("roofline", **asdict(roofline))

    def warning(self, text: str) -> None:
        """A warning about the reliability of the figures."""
        self._line("warning", text=text)

    def compile(
        self, variant: VariantId, seconds: float, based_on: Sequence[VariantId], includes: Sequence[str]
    ) -> None:
        """A variant is compiled and warm. `based_on`: earlier variants in it; `includes`: changes of its steps."""
        self._line("compile", variant=variant, seconds=seconds, based_on=list(based_on), includes=list(includes))

    def samples(self, variant: VariantId, round_: int, ms: Sequence[float]) -> None:
        """Timings, in the order they were taken."""
        self._line("samples", variant=variant, round=round_, ms=list(ms))

    def sampled(self, variant: VariantId, stop: StopReason, dropped: int) -> None:
        """Sampling of a variant ended; `dropped` samples were taken while the device was throttled."""
        self._line("sampled", variant=variant, stop=stop, dropped=dropped)

    def hot(self, variant: VariantId, hot: Hot) -> None:
        """Times with warm caches."""
        self._line("hot", variant=variant, hot={"ms": hot.ms, "calls": hot.calls, "wall_ms": hot.wall_ms})

    def error(self, failure: Failure) -> None:
        """The job failed. The last line."""
        self._line("error", **asdict(failure))

    def finished(self) -> None:
        """The job is complete. The last line."""
        self._line("finished")
