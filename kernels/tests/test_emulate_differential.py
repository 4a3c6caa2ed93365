"""Random programs give the same results in the emulator as on this machine's processor.

HIPWARD_EMULATE_PROGRAMS sets the number of programs, HIPWARD_EMULATE_SEED the first seed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
from typing import TYPE_CHECKING

import pytest
import torch
from random_kernels import LANES, sources

from hipward_kernels.compile.package_kernels import clang
from hipward_kernels.emulate import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = int(os.environ.get("HIPWARD_EMULATE_PROGRAMS", "96"))
BATCH = 16
"""Programs of a kernel."""
SEED = int(os.environ.get("HIPWARD_EMULATE_SEED", "0"))
ARCHS = ("gfx942", "gfx90a", "gfx950")

SPECIAL = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x00000001, 0x3C003C00, 0x3F800000, 0x7FC00000)


def compiled(source: str, output: Path, options: list[str], arch: str) -> None:
    path = output.with_suffix(".c")
    path.write_text(source, encoding="utf-8")
    command = [clang(arch).path, "-x", "c", "-O2", "-w", "-ffp-contract=off", *options, str(path), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def on_host(source: str, folder: Path, inputs: torch.Tensor, results: torch.Tensor, arch: str) -> None:
    # `_Float16` and `fma` without library functions.
    options = ["-mf16c", "-mfma"] if platform.machine() == "x86_64" else []
    library = folder / "host.so"
    compiled(source, library, ["-shared", "-fPIC", "-lm", "-ffp-eval-method=source", *options], arch)
    address = ctypes.c_void_p
    ctypes.CDLL(str(library)).run(address(inputs.data_ptr()), address(results.data_ptr()))


@pytest.mark.parametrize("number", range(-(-PROGRAMS // BATCH)))
def test_random_programs_agree_with_the_host(number: int, tmp_path: Path) -> None:
    arch, seed = ARCHS[number % len(ARCHS)], SEED + number
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(-(2**31), 2**31, (3 * LANES,), generator=generator, dtype=torch.int64).to(torch.int32)
    for place, value in enumerate(SPECIAL):
        inputs[7 * place :: 31 * (place + 1)] = value - (value >> 31 << 32)
    device, host = sources(seed, BATCH)
    wanted = torch.zeros(BATCH, LANES, dtype=torch.int32)
    on_host(host, tmp_path, inputs, wanted, arch)
    listing = tmp_path / "device.s"
    target = [
        "--target=amdgcn-amd-amdhsa",
        f"-mcpu={arch}",
        "-nogpulib",
        "-Xclang",
        "-fdenormal-fp-math-f32=ieee",
        # clang 22.1.8 moves an operation with the counter of a loop behind it, although lanes leave the loop at
        # different counts, which is wrong.
        "-mllvm",
        "-disable-machine-sink",
        "-S",
    ]
    compiled(device, listing, target, arch)
    got = torch.zeros_like(wanted)
    report = run(listing.read_text(encoding="utf-8"), [inputs, got], (1, 1, 1), (LANES, 1, 1))
    assert not report.findings, report.findings
    wrong = [place for place in range(BATCH) if not torch.equal(got[place], wanted[place])]
    assert not wrong, (
        f"seed {seed}, {arch}: programs {wrong} differ, first in lane "
        f"{int((got[wrong[0]] != wanted[wrong[0]]).nonzero()[0])}"
    )
