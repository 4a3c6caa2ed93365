"""A process that never runs ModelNew, and times Model on the CPU (`model_alone.py`).

A copy of the worker is forked before the snippet is imported, and waits. After the timing it imports the snippet
without ModelNew, and times Model in the same way. The copy cannot write lines.
"""

from __future__ import annotations

import ast
import json
import os
import select
import signal
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from hipward_kernels.harness import contract
from hipward_kernels.harness.model_alone import times_of
from hipward_kernels.harness.stages import stages

START_S = 60.0
"""Most time for the import of the snippet and the preparation of Model."""


class CleanProcess:
    """A forked copy of this process that waits for a request. It ends with its parent."""

    def __init__(self) -> None:
        """Forks. Call this before the snippet is imported and before PyTorch computes anything."""
        request_read, self._request = os.pipe()
        self._reply, reply_write = os.pipe()
        self._is_closed = False
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._request)
            os.close(self._reply)
            _serve(request_read, reply_write)
        os.close(request_read)
        os.close(reply_write)
        # Bound now, because a snippet may replace these functions.
        self._parts = (json.dumps, json.loads, os.write, os.read, select.select, perf_counter)

    def time(self, code: str, threads: int, timeout_s: float) -> list[float]:
        """Milliseconds of calls of Model.

        Raises:
            NotTimedError: The copy could not time Model.
        """
        encode, decode, write, read, wait, now = self._parts
        data = encode({"code": code, "threads": threads}).encode() + b"\n"
        answer = b""
        until = now() + min(timeout_s, START_S)
        try:
            while data:
                data = data[write(self._request, data) :]
            while not answer.endswith(b"\n"):
                left = until - now()
                if left <= 0 or not wait([self._reply], [], [], left)[0]:
                    raise NotTimedError("that took too long")
                part = read(self._reply, 1 << 16)
                if not part:
                    raise NotTimedError("the process ended")
                answer += part
        except OSError as error:
            raise NotTimedError(str(error)) from error
        reply: dict[str, Any] = decode(answer)
        if "error" in reply:
            raise NotTimedError(str(reply["error"]))
        return [float(ms) for ms in reply["ms"]]

    def close(self) -> None:
        """Ends the copy, once."""
        if self._is_closed:
            return
        self._is_closed = True
        for fd in (self._request, self._reply):
            os.close(fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            return


class NotTimedError(Exception):
    """The copy could not time Model. The message is the end of a sentence."""


def _serve(request: int, reply: int) -> None:
    """The copy: answers requests until the parent ends."""
    try:
        # The lines and the job belong to the parent.
        os.closerange(3, min(request, reply))
        os.closerange(min(request, reply) + 1, max(request, reply))
        os.closerange(max(request, reply) + 1, 4096)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        with os.fdopen(request, "rb") as requests:
            for line in requests:
                try:
                    answer: dict[str, Any] = {"ms": _times(**json.loads(line))}
                except BaseException as error:
                    answer = {"error": f"{type(error).__name__}: {error}"[:200]}
                data = json.dumps(answer).encode() + b"\n"
                while data:
                    data = data[os.write(reply, data) :]
    finally:
        os._exit(0)


def _times(code: str, threads: int) -> list[float]:
    first, _ = stages(ast.parse(code))
    snippet = contract.load(ast.unparse(first), Path(tempfile.mkdtemp(dir=Path.cwd())), torch.device("cpu"))
    torch.set_num_threads(threads)
    return times_of(snippet)
