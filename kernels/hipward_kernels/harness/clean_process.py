"""Times Model once more, in a process that never runs ModelNew.

ModelNew shares a process with Model, and can make it slower there in ways that no record of objects covers: a hook on
an object that it finds, a patched function of the snippet, a thread, a change in C. So a second process is started
before the snippet is imported, and waits. After the timing it imports the snippet without ModelNew, and times Model in
the same way. A difference beyond noise is reported with the result.

On a CPU the process is a copy of the worker, which is ready at once. The runtime of a GPU cannot be used in a copy of a
process that has used it, which the worker's imports may contain: there the process is a new one, which imports PyTorch
while the job begins.

The process cannot write lines. Code at the top level of the snippet runs in both
processes; what it makes slower is slower in both, and is part of the Model that the result shows.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import secrets
import select
import signal
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 5
SECONDS = 1.0
"""Time of the samples."""
FEWEST_SAMPLES = 10
MOST_SAMPLES = 200
START_S = 60.0
"""Most time for the import of the snippet and the preparation of Model."""

DIFFERENCE = 1.25
"""Ratio of the times in the two processes from which on they differ."""
DIFFERENCE_MS = 0.01
"""The same as a difference: the host's time of a call varies."""

MODEL_NEW = "ModelNew"

PACKAGES = Path(__file__).parents[2]
"""The folder of this package."""


class CleanProcess:
    """A process that waits for a request. It ends with its parent."""

    def __init__(self, *, copies: bool) -> None:
        """Starts it. Call this before the snippet is imported and before PyTorch computes anything.

        Args:
            copies: Whether it is a copy of this process, or a new one, which can use a GPU.
        """
        request_read, self._request = os.pipe()
        self._reply, reply_write = os.pipe()
        self._is_closed = False
        self.pid = os.fork() if copies else _start(request_read, reply_write)
        if self.pid == 0:
            os.close(self._request)
            os.close(self._reply)
            _serve(request_read, reply_write)
        os.close(request_read)
        os.close(reply_write)
        # Bound now, because a snippet may replace these functions.
        self._parts = (json.dumps, json.loads, os.write, os.read, select.select, perf_counter)

    def time(self, code: str, device: str, threads: int, timeout_s: float) -> list[float]:
        """Milliseconds of calls of Model.

        Raises:
            NotTimedError: The process could not time Model.
        """
        encode, decode, write, read, wait, now = self._parts
        data = encode({"code": code, "device": device, "threads": threads}).encode() + b"\n"
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
        """Ends the process, once."""
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
    """The process could not time Model. The message is the end of a sentence."""


def differs(here: Sequence[float], there: Sequence[float]) -> bool:
    """Whether Model is slower here than in the other process, beyond noise. Both are milliseconds of calls."""
    if len(here) < 4 or len(there) < 4:
        return False
    mine, its = median(here), median(there)
    return mine > quantiles(there, n=4)[2] and mine > DIFFERENCE * its and mine - its > DIFFERENCE_MS


def without_model_new(code: str) -> str:
    """The snippet without its top-level definitions of ModelNew.

    Raises:
        SyntaxError: The code is not valid Python.
    """
    tree = ast.parse(code)
    tree.body = [node for node in tree.body if not _defines_model_new(node)]
    return ast.unparse(tree)


def _defines_model_new(node: ast.stmt) -> bool:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name == MODEL_NEW
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == MODEL_NEW for target in targets)


def _start(request: int, reply: int) -> int:
    """Starts a new interpreter with this module as its program; returns its process number."""
    for fd in (request, reply):
        os.set_inheritable(fd, True)  # noqa: FBT003 - it has no keyword
    path = os.pathsep.join([str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    arguments = [sys.executable, "-P", "-m", __name__, str(request), str(reply)]
    return os.posix_spawn(sys.executable, arguments, {**os.environ, "PYTHONPATH": path})


def _serve(request: int, reply: int) -> None:
    """The process: answers requests until the parent ends."""
    try:
        # The lines and the job belong to the parent.
        os.closerange(3, min(request, reply))
        os.closerange(min(request, reply) + 1, max(request, reply))
        os.closerange(max(request, reply) + 1, 4096)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        # A copy has these already, and a new process imports them while the parent is busy.
        for name in ("contract", "inputs", "job", "timing"):
            importlib.import_module(f"hipward_kernels.harness.{name}")
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


def _times(code: str, device: str, threads: int) -> list[float]:
    import torch  # noqa: PLC0415 - see `_serve`

    from hipward_kernels.harness import contract  # noqa: PLC0415
    from hipward_kernels.harness.inputs import Ring, Source  # noqa: PLC0415
    from hipward_kernels.harness.job import warm_up  # noqa: PLC0415
    from hipward_kernels.harness.timing import clock_for  # noqa: PLC0415

    place = torch.device(device)
    snippet = contract.load(without_model_new(code), Path(tempfile.mkdtemp(dir=Path.cwd())), place)
    torch.set_num_threads(threads)
    model = snippet.build("Model")
    inputs = snippet.inputs(secrets.randbits(31))
    source = Source(snippet)
    # Copies, because it is not known here whether Model modifies its inputs.
    ring = Ring(source, copy_each=place.type == "cpu")
    _, call_s = warm_up(model, inputs, place)
    clock = clock_for(place)
    count = min(max(int(SECONDS / ROUNDS / max(call_s, 1e-9)), FEWEST_SAMPLES // ROUNDS), MOST_SAMPLES // ROUNDS)
    renews = ring.renews(call_s)
    times: list[float] = []
    started = perf_counter()
    with torch.no_grad():
        for _ in range(ROUNDS):
            arguments = [ring.take() for _ in range(count)]

            def before(index: int, arguments: list[Any] = arguments) -> None:
                if renews:
                    ring.renew(arguments[index])

            model(*ring.take())
            times += clock.samples(model, arguments, None, before)[0]
            if perf_counter() - started > START_S / 4 and len(times) >= 4:
                break
    return times


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
