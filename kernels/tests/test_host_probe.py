"""The probe of the host, as the server starts it."""

import os
import subprocess
import sys
import time
from pathlib import Path

START = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-m", "hipward_kernels.harness.host_probe"])
time.sleep(60)
"""

# In place of PyTorch, whose import can take long on a cold disk.
SLOW_TORCH = """
import os, pathlib, time
pathlib.Path("probe").write_text(str(os.getpid()))
time.sleep(60)
"""


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rsplit(")", 1)[-1].split()[0] != "Z"
    except OSError:
        return False


def test_probe_ends_with_its_server(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(SLOW_TORCH)
    package = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{package}"}
    server = subprocess.Popen([sys.executable, "-c", START], cwd=tmp_path, env=environment)
    try:
        written = tmp_path / "probe"
        end = time.monotonic() + 30
        while not (written.exists() and written.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        probe = Path("/proc") / written.read_text()
        assert "host_probe" in (probe / "cmdline").read_text()
    finally:
        server.kill()
        server.wait()
    end = time.monotonic() + 10
    while _runs(probe):
        assert time.monotonic() < end, "the probe lives on"
        time.sleep(0.02)
