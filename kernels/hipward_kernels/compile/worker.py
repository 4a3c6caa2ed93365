"""The process that compiles for somebody else: one request a line in, one answer a line out.

`python -P -m hipward_kernels.compile.worker --events-fd N` writes `{"type": "ready"}` to the descriptor N when it is
warm, then reads requests (`request.py`) from standard input until its end. Every answer is one line: `compiled`, or
`error` with a code, a message, what to do, and the source's line. Standard output and error are the source's.

Whoever starts it gives it the isolation of a job: a Triton source is Python and may do anything Python can.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hipward_kernels.compile import CompileError, Request, compile_source, headers


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compiles kernels to AMD machine code.")
    parser.add_argument("--events-fd", type=int, required=True, help="descriptor for answers")
    options = parser.parse_args()
    # Bound now, and not inherited by compilers: a source may replace what `os` holds.
    fd = fcntl.fcntl(options.events_fd, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(options.events_fd)
    write, encode = os.write, json.JSONEncoder(separators=(",", ":")).encode

    def tell(answer: dict[str, Any]) -> None:
        data = memoryview(encode(answer).encode() + b"\n")
        while data:
            data = data[write(fd, data) :]

    directory = Path.cwd()
    os.environ.setdefault("TRITON_CACHE_DIR", str(directory / ".cache" / "triton"))
    warm_up()
    # Requests come on a descriptor of their own, so that a source that reads standard input takes none.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    tell({"type": "ready"})
    headers.parse_ahead(directory)
    for line in requests:
        tell(answer(line, directory))
    sys.stdout.flush()


def answer(line: str, directory: Path) -> dict[str, Any]:
    """The answer to one request, whatever it is and whatever its source does."""
    try:
        return compile_source(Request.from_json(json.loads(line)), directory)
    except CompileError as error:
        return {"type": "error", **asdict(error.failure)}
    except ValueError as error:
        return _internal("bad-request", f"The request is not JSON: {error}.", "Send one JSON object a line.")
    except BaseException as error:  # noqa: BLE001 - a source may raise and exit in any way
        return _internal(
            "internal", f"Compiling raised {type(error).__name__}: {error}", "Report this with the source."
        )


def _internal(code: str, message: str, help_: str) -> dict[str, Any]:
    return {"type": "error", "code": code, "message": message, "help": help_, "line": None}


def warm_up() -> None:
    """Does what a first compilation would do once: loads the compiler and, because sources import it, PyTorch."""
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401, PLC0415 - kernels' files import it
    with contextlib.suppress(ImportError, CompileError):
        from hipward_kernels.compile import from_triton  # noqa: PLC0415 - Triton may be missing

        from_triton.warm_up()


if __name__ == "__main__":
    main()
