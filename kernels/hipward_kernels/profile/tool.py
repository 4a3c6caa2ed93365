"""Finds and runs a profiler of ROCm, or reports that it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGES = {
    "rocprofv3": "rocprofiler-sdk",
    "rocprof-sys-run": "rocprofiler-systems",
    "rocprof-compute": "rocprofiler-compute",
}
"""ROCm's package of each tool."""


class ToolMissingError(Exception):
    """The tool is not on this host; the message names its package."""


class ToolFailedError(Exception):
    """The tool ran and failed; the message ends with its output."""


def find(name: str) -> str:
    """Path of a tool: on PATH, or in ROCm's folder.

    Raises:
        ToolMissingError: The tool is missing.
    """
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "bin" / name
    found = shutil.which(name) or (str(rocm) if os.access(rocm, os.X_OK) else None)
    if found is None:
        raise ToolMissingError(
            f"{name} is not on this host. It comes with ROCm, in the package {PACKAGES[name]}, and needs an AMD GPU: "
            f"sudo apt-get install {PACKAGES[name]}. `python -m hipward_kernels.profile` works without it."
        )
    return found


def run(command: Sequence[str], *, seconds: float, variables: Mapping[str, str] | None = None) -> str:
    """Runs a tool's command line and returns its output; `find` looks up the first word.

    Raises:
        ToolMissingError: The tool is missing.
        ToolFailedError: It failed, or took longer than `seconds`.
    """
    path = find(command[0])
    try:
        done = subprocess.run(  # noqa: S603 - the caller's own command under a known tool
            [path, *command[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env={**os.environ, **(variables or {})},
        )
    except subprocess.TimeoutExpired as error:
        raise ToolFailedError(f"{command[0]} took longer than {seconds:g} s.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise ToolFailedError(f"{command[0]} ended with {done.returncode}: {' / '.join(said)}")
    return done.stdout
