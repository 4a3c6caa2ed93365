"""Runs `interpreted_models.py` in a process of its own: Triton decides at import whether it interprets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def test_versions_with_triton_kernels_match_v1() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(TESTS / "interpreted_models.py")],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
