"""Worker processes of the harness, used as the runner uses them, but without isolation."""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.harness.lines import VariantId

PACKAGE = Path(__file__).parents[2]
GRACE_S = 5.0
"""Time after the limit of a job until its worker is killed, as in the runner."""


@dataclass(frozen=True)
class Outcome:
    """The lines of a job with the seconds at which they arrived."""

    lines: list[tuple[float, dict[str, Any]]]
    seconds: float
    """Time until the last line, or until the worker was killed or ended."""
    stopped: bool
    """Whether the worker was killed because it exceeded the limit."""
    status: int
    limit_s: float

    def of(self, kind: str, variant: VariantId | None = None) -> list[dict[str, Any]]:
        """The lines of a kind, of one variant or of all."""
        return [line for _, line in self.lines if line["type"] == kind and variant in (None, line.get("variant"))]


class Worker:
    """A process that imports PyTorch and then waits for a job."""

    def __init__(self, memory_bytes: int | None = None) -> None:
        """`memory_bytes` limits the memory on the host of each of its processes, as in the runner."""
        self._directory = Path(tempfile.mkdtemp(prefix="hipward-"))
        read, write = os.pipe()
        path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._log = (self._directory / "log").open("wb")
        self._process = subprocess.Popen(  # noqa: S603 - the harness of this package
            [sys.executable, "-P", "-m", "hipward_kernels.harness.worker", "--events-fd", str(write)],
            env={**os.environ, "PYTHONPATH": path},
            cwd=self._directory,
            pass_fds=[write],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(write)
        if memory_bytes is not None:
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        self._events = read
        self._pending = b""

    def run(self, code: str, device: str, time_cap_s: float, limit_s: float, variants: Sequence[VariantId]) -> Outcome:
        """Runs a job and ends the process."""
        lines: list[tuple[float, dict[str, Any]]] = []
        stopped = False
        started: float | None = None
        job = {
            "code": code,
            "variants": list(variants),
            "device": device,
            "time_cap_s": time_cap_s,
            "time_limit_s": limit_s,
        }
        try:
            while True:
                left = None if started is None else started + limit_s + GRACE_S - perf_counter()
                line = self._next(left)
                now = perf_counter()
                if line is None:
                    stopped = started is not None and now - started >= limit_s + GRACE_S
                    break
                if line["type"] == "ready":
                    started = now
                    assert self._process.stdin is not None  # noqa: S101 - a pipe, see above
                    self._process.stdin.write(json.dumps(job).encode() + b"\n")
                    self._process.stdin.close()
                    continue
                lines.append((now - (started or now), line))
                if line["type"] in ("finished", "error"):
                    break
            seconds = perf_counter() - (started or perf_counter())
        finally:
            self.close()
        return Outcome(lines, seconds, stopped, self._process.returncode, limit_s)

    def close(self) -> None:
        """Ends the process and its children, and removes its files."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        self._log.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _next(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next line; None if the process has ended or the time is over."""
        until = None if timeout_s is None else perf_counter() + timeout_s
        while b"\n" not in self._pending:
            left = None if until is None else until - perf_counter()
            if left is not None and left <= 0:
                return None
            if not select.select([self._events], [], [], left)[0]:
                return None
            data = os.read(self._events, 1 << 16)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        parsed: dict[str, Any] = json.loads(line)
        return parsed
