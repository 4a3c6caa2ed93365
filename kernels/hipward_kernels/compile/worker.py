"""The worker process of the compiler: reads a request per line and writes an answer per line.

`python -P -m hipward_kernels.compile.worker --events-fd N` writes `{"type": "ready"}` to the descriptor N when it is
warm, then reads requests (`request.py`) from standard input until its end. An answer is one line: `compiled`, or
`error` with a code, a message, what to do, and the source's line. Standard output and error are used by the source.

The parent process must isolate it like a job, because a Triton source is Python and can do anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hipward_kernels import worker_pipe
from hipward_kernels.compile import CompileError, Request, compile_source, headers


def main() -> None:
    """Entry point."""
    tell = worker_pipe.from_arguments("Compiles kernels to AMD machine code.")
    directory = Path.cwd()
    os.environ.setdefault("TRITON_CACHE_DIR", str(directory / ".cache" / "triton"))
    warm_up()
    # Requests are read from a duplicate, so that a source that reads standard input does not consume them.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    tell({"type": "ready"})
    headers.parse_ahead(directory)
    for line in requests:
        tell(answer(line, directory))
    sys.stdout.flush()


def answer(line: str, directory: Path) -> dict[str, Any]:
    """The answer to a request; every error is an answer too."""
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
    """Does the one-time work of a first compilation: loads the compiler and, because sources import it, PyTorch."""
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401, PLC0415 - kernels' files import it
    with contextlib.suppress(ImportError, CompileError):
        from hipward_kernels.compile import from_triton  # noqa: PLC0415 - Triton may be missing

        from_triton.warm_up()


if __name__ == "__main__":
    main()
