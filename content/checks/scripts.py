"""Runs Python files of lessons, each in its own process, which is forked from one that has imported PyTorch."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from pathlib import Path

from checks.common import LessonError, expect

SECONDS = 300

# Importing PyTorch takes longer than most of the files run. Triton is not imported: a file may set whether it interprets.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["torch"])


def execute(path: Path, arguments: list[str], directory: str | Path) -> str:
    """Run a file as a program; return its standard output, or raise with the last line of its errors."""
    with tempfile.TemporaryDirectory() as scratch:
        output, errors = Path(scratch) / "output", Path(scratch) / "errors"
        process = FORKS.Process(target=_run, args=(str(path), arguments, str(directory), str(output), str(errors)))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise LessonError(f"no end after {SECONDS} seconds")
        printed = output.read_text(encoding="utf-8")
        last = (errors.read_text(encoding="utf-8") or printed).strip().splitlines()[-1:]
        expect(process.exitcode == 0, f"exited with {process.exitcode}: {last}")
        process.close()
    return printed


def _run(path: str, arguments: list[str], directory: str, output: str, errors: str) -> None:
    for file, descriptor in ((output, 1), (errors, 2)):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(directory)
    sys.argv = [path, *arguments]
    sys.path[0] = str(Path(path).parent)
    runpy.run_path(path, run_name="__main__")
