"""The harness's worker for tests: a copy of one process that has imported PyTorch, which a new worker would import.

`python -P forked_worker.py` serves jobs on its standard input, which is a Unix socket. `run_job` starts it once.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parent.parent
SECONDS = 120


def run_job(job: str, directory: Path, output: Path, errors: Path, limit_bytes: int | None) -> tuple[str, int]:
    """Runs a job as `python -P -m hipward_kernels.harness.worker` does; returns its events and its exit code.

    Args:
        job: The line for the worker.
        directory: The working directory.
        output: Receives the standard output.
        errors: Receives the standard error.
        limit_bytes: Memory that the worker may use.
    """
    process, parent = _parent()
    events, events_end = os.pipe()
    request, request_end = os.pipe()
    opened = [
        events_end,
        request,
        *(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in (output, errors)),
    ]
    with ThreadPoolExecutor(1) as pool, os.fdopen(events, encoding="utf-8") as lines:
        try:
            options = json.dumps({"directory": str(directory), "limit_bytes": limit_bytes}).encode()
            socket.send_fds(parent, [options], opened)
            os.write(request_end, job.encode() + b"\n")
        finally:
            for fd in (*opened, request_end):
                os.close(fd)
        read = pool.submit(lines.read)
        try:
            status = int(parent.recv(64))
        except (TimeoutError, ValueError):
            os.killpg(process.pid, signal.SIGKILL)
            _parent.cache_clear()
            raise
        return read.result(), status


@functools.cache
def _parent() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Starts the process that is copied. It ends when its socket is closed."""
    mine, other = socket.socketpair()
    mine.settimeout(SECONDS)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    # As in `worker.prepare`, which PyTorch's import must not precede.
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    process = subprocess.Popen(
        [sys.executable, "-P", __file__], env=environment, stdin=other.fileno(), start_new_session=True
    )
    other.close()
    return process, mine


def serve() -> None:
    """Forks a worker for each request and replies with its exit code."""
    import torch

    # Imports ask for GPUs, after which CUDA fails in copies of this process. The jobs run on the CPU.
    with mock.patch.object(torch.cuda, "is_available", return_value=False):
        from hipward_kernels.harness import job, worker  # noqa: F401 - `worker` imports `job` when it runs
        from hipward_kernels.harness.first_use import prepare_compiler

        prepare_compiler()
    client = socket.socket(fileno=os.dup(0))
    while True:
        request, fds, _, _ = socket.recv_fds(client, 4096, 4)
        if not request:
            return
        pid = os.fork()
        if pid == 0:
            try:
                client.close()
                become_worker(json.loads(request), *fds)
                worker.main()
            finally:
                os._exit(1)
        for fd in fds:
            os.close(fd)
        client.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def become_worker(request: dict[str, str | int | None], events: int, job: int, output: int, errors: int) -> None:
    """Sets what a new process would have from its parent."""
    for fd, target in ((job, 0), (output, 1), (errors, 2)):
        os.dup2(fd, target)
        os.close(fd)
    os.chdir(str(request["directory"]))
    if limit := request["limit_bytes"]:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
    sys.argv = ["worker", "--events-fd", str(events)]


if __name__ == "__main__":
    serve()
