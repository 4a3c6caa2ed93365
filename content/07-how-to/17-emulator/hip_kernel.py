# test: analyze
"""Runs the HIP kernel of the lesson "A kernel in HIP" on its gfx942 machine code: `python hip_kernel.py silu.hip`."""

import json
import subprocess
import sys

import torch
from hipward_kernels.emulate import run
from hipward_kernels.emulate.program import value

# anchor: run
command = [sys.executable, "-m", "hipward_kernels.compile", sys.argv[1], "--arch", "gfx942", "--json"]
answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

vectors, threads = 700, 256
gate, up, y = torch.randn(4 * vectors), torch.randn(4 * vectors), torch.zeros(4 * vectors)
listing = answer["targets"][0]["texts"]["amdgcn"]
report = run(listing, [gate, up, y, value(vectors, "u32")], grid=(2, 1, 1), workgroup=(threads, 1, 1))
torch.testing.assert_close(y, torch.nn.functional.silu(gate) * up, rtol=1e-5, atol=1e-5)
print(f"agrees with PyTorch, {len(report.findings)} findings, {report.counts['masked_lanes']} masked lanes")
# end: run
