"""The worker process that the runner starts: reports that it is ready, reads one job, runs it, exits.

`python -P -m hipward_kernels.harness.worker --events-fd N` writes its lines to the descriptor N. Standard output and
error are used by the snippet. If the input ends before a job, the worker exits.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path


def prepare() -> Path:
    """Prepares the process for PyTorch and a snippet; returns a writable directory.

    Must run before PyTorch is imported. Compilers use no worker processes, because a job may have few processes, and
    compile time should not depend on the number of cores.
    """
    directory = Path.cwd()
    if not os.access(directory, os.W_OK):
        directory = Path(tempfile.mkdtemp(prefix="hipward-"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(directory / ".cache" / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(directory / ".cache" / "triton"))
    return directory


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Runs one benchmark job.")
    parser.add_argument("--events-fd", type=int, required=True, help="descriptor for JSON lines")
    events_fd: int = parser.parse_args().events_fd
    directory = prepare()

    # Imported after `prepare`, which sets environment variables that PyTorch reads.
    from hipward_kernels.harness import job  # noqa: PLC0415
    from hipward_kernels.harness.first_use import prepare_compiler  # noqa: PLC0415
    from hipward_kernels.harness.lines import Failure, Lines  # noqa: PLC0415

    lines = Lines(events_fd)
    # A waiting worker has time; a job would wait for this.
    prepare_compiler()
    lines.ready()
    request = sys.stdin.readline()
    if not request:
        return
    # Standard input is empty for the snippet.
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        parsed = job.Job.from_json(request)
    except ValueError as error:
        lines.error(Failure("internal", f"The job cannot be read: {error}.", "Report this error."))
    else:
        job.run(parsed, lines, directory, job.clean_process_for(parsed))
    leave()


def leave() -> None:
    """Ends the process immediately after flushing output, without waiting for threads or exit handlers."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(0)


if __name__ == "__main__":
    main()
