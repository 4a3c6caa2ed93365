"""The worker process that the runner starts: executes one kernel with `hipward run`.

`python -P -m hipward_kernels.emulate.worker --events-fd N` writes `{"type": "ready"}` to the descriptor N, and reads
one request from standard input, a line of JSON:

    {"language": "cuda", "source": "…", "arch": "gfx942", "launch": "…", "reference": null, "unsafe_fixes": false}

The answer is one line: `{"type": "emulated", "report": …}` with the JSON of `hipward run`, or
`{"type": "error", "code": "…", "message": "…"}`. `HIPWARD_PROGRAM` is the path of the program `hipward`.

The parent process must isolate it like a job, because a reference is Python and can do anything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hipward_kernels import worker_pipe

SECONDS = 50.0
"""Timeout of a run: less than that of the request, so that the answer states it."""

BUDGET = 1 << 24
"""Most instructions of a run."""

MOST_OUTPUT = 8 << 10
"""Most bytes of what the reference prints that are part of the answer."""

MOST_REPORT = 3 << 20
"""Most bytes of a report."""

FILES = {"cuda": "kernel.cu", "hip": "kernel.hip", "assembly": "kernel.s"}
"""The file of each language; `hipward run` knows the language by the suffix."""


def main() -> None:
    """Entry point."""
    tell = worker_pipe.from_arguments("Executes one kernel in the emulator.")
    tell({"type": "ready"})
    if line := sys.stdin.readline():
        tell(answer(line, Path.cwd(), os.environ.get("HIPWARD_PROGRAM")))


def answer(line: str, directory: Path, program: str | None) -> dict[str, Any]:
    """The answer to a request; every error is an answer too."""
    if program is None:
        return _error("failed", "This runner cannot start its own program, which contains the emulator.")
    try:
        request = json.loads(line)
        folder = directory / "run"
        folder.mkdir()
        return _run(_command(request, folder, program), folder)
    except (ValueError, KeyError, TypeError, OSError) as error:
        return _error("failed", f"The kernel cannot be executed: {type(error).__name__}: {error}")


def _command(request: dict[str, Any], folder: Path, program: str) -> list[str]:
    """Writes the files of a request, and returns the command that executes them."""
    source = FILES[request["language"]]
    (folder / source).write_text(request["source"], encoding="utf-8")
    (folder / "run.toml").write_text(request["launch"], encoding="utf-8")
    command = [program, "run", source, "--args", "run.toml", "--format", "json"]
    command += ["--budget", str(BUDGET), "--python", sys.executable]
    if request["arch"]:
        command += ["--arch", request["arch"]]
    if request["reference"] is not None:
        (folder / "reference.py").write_text(request["reference"], encoding="utf-8")
        command += ["--check", "reference.py"]
    if request["unsafe_fixes"]:
        command.append("--unsafe-fixes")
    return command


def _run(command: list[str], folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    # Files instead of pipes: a process that the reference starts may keep a pipe open.
    output, errors = folder / "output", folder / "errors"
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        try:
            done = subprocess.run(  # noqa: S603 - the program of the runner
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _error("timeout", f"There was no result after {SECONDS:.0f} seconds.")
    printed = errors.read_bytes()
    if done.returncode in (0, 1) and output.stat().st_size <= MOST_REPORT:
        try:
            report = json.loads(output.read_bytes())
        except ValueError as error:
            return _error("failed", f"The report cannot be read: {error}")
        report["output"] = printed[:MOST_OUTPUT].decode("utf-8", "replace")
        report["seconds"] = time.monotonic() - start
        return {"type": "emulated", "report": report}
    if done.returncode == 2:
        # What the reference printed is before the message.
        text = printed[-(64 << 10) :].decode("utf-8", "replace")
        message = re.split(r"(?:^|\n)hipward run: ", text)[-1].strip()
        return _error("not-executed", message.replace(f"{folder}{os.sep}", ""))
    if done.returncode < 0:
        return _error(
            "failed", f"The emulator was ended by signal {-done.returncode}; the buffers may need more memory."
        )
    return _error(
        "failed", f"The emulator ended with code {done.returncode}: {printed[:500].decode('utf-8', 'replace')}"
    )


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "code": code, "message": message}


if __name__ == "__main__":
    main()
