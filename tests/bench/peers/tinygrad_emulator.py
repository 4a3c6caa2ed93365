"""Runs the recorded RMSNorm in the emulator of a checkout of tinygrad: `tinygrad_emulator.py CHECKOUT ROWS`.

Prints the version, the seconds of a launch, those of the first one, and the largest error of the result, as JSON.
"""

import ctypes
import json
import re
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

RECORD = Path(__file__).parents[3] / "kernels" / "results" / "launches.json"
WIDTH = 4096
EPS = 1e-6
ROUNDS = 3


def main() -> None:
    """Entry point."""
    checkout, rows = sys.argv[1], int(sys.argv[2])
    sys.path.insert(0, checkout)
    from test.mockgpu.amd.emu import run_asm

    launches = json.loads(RECORD.read_text(encoding="utf-8"))["launches"]
    launch = next(one for one in launches if one["name"] == "rmsnorm")
    code = assembled(launch["listing"], launch["arch"])
    program = ctypes.create_string_buffer(code + bytes(64), len(code) + 64)

    x = (np.random.default_rng(0).standard_normal((rows, WIDTH)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    weight, y = np.full(WIDTH, 0x3F80, np.uint16), np.zeros_like(x)
    addresses = (x.ctypes.data, weight.ctypes.data, y.ctypes.data)
    arguments = ctypes.create_string_buffer(struct.pack("<QQQifQQ", *addresses, WIDTH, EPS, 0, 0))
    # The second word of the kernel descriptor: scalar registers, workgroup id, LDS.
    registers = int(re.search(r"\.amdhsa_user_sgpr_count\s+(\d+)", launch["listing"])[1])
    resources = registers << 1 | 1 << 7 | -(-launch["lds"] // 512) << 15
    times = []
    for _ in range(1 + ROUNDS):
        start = time.perf_counter()
        run_asm(
            *(ctypes.addressof(program), len(code), rows, 1, 1, *launch["workgroup"]),
            *(ctypes.addressof(arguments), resources, 0, "cdna"),
        )
        times.append(time.perf_counter() - start)

    given, result = floats(x).astype(np.float64), floats(y)
    wanted = given / np.sqrt((given**2).mean(1, keepdims=True) + EPS)
    error = float(np.abs(result - wanted).max())
    version = tomllib.loads(Path(checkout, "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    print(json.dumps({"version": version, "seconds": min(times[1:]), "first": times[0], "error": error}))


def assembled(listing: str, arch: str) -> bytes:
    """The machine code of a listing."""
    from tinygrad.runtime.support.elf import elf_loader

    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "kernel.s"), Path(folder, "kernel.o")
        # clang names the target differently.
        source.write_text(re.sub(r"(?m)^\t\.amdgcn_target.*\n", "", listing), encoding="utf-8")
        command = ["clang-22", "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", source, "-o", result]
        subprocess.run(command, check=True)
        sections = elf_loader(result.read_bytes())[1]
    return bytes(next(section.content for section in sections if section.name == ".text"))


def floats(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits as numbers."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


if __name__ == "__main__":
    main()
