"""What `torch.compile` does once is done before a job."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import logging, sys, threading
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s")
from hipward_kernels.harness.first_use import prepare_compiler
import torch

torch._logging.set_logs(all=logging.ERROR)
prepare_compiler()
print("threads", threading.active_count(), "device", torch.cuda.is_initialized())
before = {*sys.modules}
with torch.no_grad():
    torch.compile(torch.nn.Linear(8, 8))(torch.ones(2, 8))
slow = ("setuptools", "sympy", "torch.distributed", "torch.export")
print("later", [name for name in {*sys.modules} - before if name.startswith(slow)])
"""


def test_a_job_imports_nothing_slow_for_its_first_compilation() -> None:
    # Without the tests of vector instructions, which take seconds.
    environment = {**os.environ, "TORCHINDUCTOR_VEC_ISA_OK": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = done.stdout.splitlines()
    assert "hipward_kernels.harness.first_use" not in lines, "a name is missing in this release of PyTorch"
    assert "threads 1 device False" in lines
    assert "later []" in lines
