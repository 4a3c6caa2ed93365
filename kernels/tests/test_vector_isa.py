"""The vector instructions that the harness determines for `torch.compile` are those that Inductor chooses by itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PICK = """
from torch._inductor import cpu_vec_isa
picked = cpu_vec_isa.pick_vec_isa()
print(picked, picked.build_arch_flags())
print([(str(isa), isa.build_arch_flags()) for isa in cpu_vec_isa.valid_vec_isa_list()])
"""
DETERMINE = "from hipward_kernels.harness import vector_isa; vector_isa.determine()"


def chosen(before: str, cache: Path, compiler: str = "g++") -> tuple[str, int]:
    """The instruction set after `before` in a new process, and the number of complete test libraries."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "CXX": compiler}
    ran = subprocess.run(
        [sys.executable, "-c", before + PICK], env=environment, capture_output=True, text=True, check=True
    )
    tests = [file for file in cache.rglob("*.cpp") if "__avx_chk_kernel" in file.read_text()]
    return ran.stdout.strip(), len(tests)


def test_one_test_library_decides_as_inductor_does(tmp_path: Path) -> None:
    usual, compiled = chosen("", tmp_path / "usual")
    determined, alone = chosen(DETERMINE, tmp_path / "determined")
    assert determined == usual
    if compiled > 0:
        assert alone == 1


def test_compiler_without_the_instructions_is_left_to_inductor(tmp_path: Path) -> None:
    """A compiler that knows no AVX-512."""
    compiler = tmp_path / "g++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-mavx512*) exit 1;; esac\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    usual, compiled = chosen("", tmp_path / "usual", str(compiler))
    if "avx512" in usual or compiled == 0:
        pytest.skip("Inductor has no AVX-512 to try here")
    assert chosen(DETERMINE, tmp_path / "determined", str(compiler))[0] == usual
