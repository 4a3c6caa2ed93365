"""PyTorch's C++ headers, precompiled for `torch.compile` on the CPU: once for a host, not once for a job.

Inductor precompiles them into every new cache, and each job has a new cache. While no job waits, the server runs
`python -m hipward_kernels.harness.cpp_headers --events-fd N`. Once the line `ready` is on the descriptor N, it copies
the folder `cpp-headers` of the working directory and ends the process. A job that compiles for the CPU links to these.
Inductor looks a header up by a hash of the compiler, its options and the preprocessed header, so it never uses one of
another compiler or another PyTorch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hipward_kernels.harness import vector_isa

_FOLDER = os.environ.get("HIPWARD_CPP_HEADERS")
KEPT = Path(_FOLDER) if _FOLDER else None
"""The folder of the server's files. Read before a snippet can change the variable."""

FACTS = "host.json"
"""Says for which host the files are, and which vector instructions work there. Written last."""


def link() -> None:
    """Lets Inductor use the kept headers and vector instructions, if there are any for this host."""
    if KEPT is None:
        return
    # Without names of Inductor that are not public, Inductor does as always.
    with contextlib.suppress(OSError, KeyError, ImportError, AttributeError):
        facts = _facts(KEPT)
        if facts is None:
            return
        vector_isa.use(facts["vector_isas"])
        own = _inductors_folder()
        own.mkdir(parents=True, exist_ok=True)
        for name in facts["headers"]:
            (own / name).symlink_to(KEPT / name)


def precompile(folder: Path) -> None:
    """Precompiles the headers as a job would, into `folder`; makes none if those kept are for this host."""
    import torch  # noqa: PLC0415 - slow

    if KEPT is not None and _facts(KEPT) is not None:
        return
    vector_isa.determine()
    torch.compile(lambda x: x.exp() + 1)(torch.ones(64))
    folder.mkdir()
    headers = [file for file in _inductors_folder().iterdir() if file.is_file()]
    for file in headers:
        shutil.move(file, folder / file.name)
    facts = {
        "host": vector_isa.host(),
        "vector_isas": vector_isa.found(),
        "headers": [file.name for file in headers],
    }
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _facts(kept: Path) -> dict[str, Any] | None:
    """The facts of the files in `kept`, if they are for this host."""
    with contextlib.suppress(OSError, ValueError):
        facts = json.loads((kept / FACTS).read_text(encoding="utf-8"))
        if isinstance(facts, dict) and facts.get("host") == vector_isa.host():
            return facts
    return None


def _inductors_folder() -> Path:
    from torch._inductor import codecache  # noqa: PLC0415 - slow

    return Path(codecache._HEADER_DIR)  # noqa: SLF001


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Precompiles PyTorch's C++ headers.")
    parser.add_argument("--events-fd", type=int, required=True, help="descriptor for the line")
    events_fd: int = parser.parse_args().events_fd
    # Jobs and requests come first.
    os.nice(19)
    line = "ready"
    try:
        precompile(Path.cwd() / "cpp-headers")
    except Exception as error:  # For example, there is no compiler.
        line = f"{type(error).__name__}: {error}".splitlines()[0]
    os.write(events_fd, f"{line}\n".encode())
    # The server copies the files and ends this process.
    sys.stdin.read()


if __name__ == "__main__":
    main()
