"""Every Triton kernel compiles to AMD machine code, with the launch that it would get on that GPU.

No GPU is needed. The shapes are those that decide speed: 16-byte loads, and nothing spilled to memory.
"""

from __future__ import annotations

from typing import Any

import pytest

from hipward_kernels.amdgcn import WAVEFRONT, MachineCode, compile_for
from hipward_kernels.ops.launch import row_block, warps
from hipward_kernels.ops.rmsnorm import triton as rmsnorm
from hipward_kernels.ops.silu_mul import triton as silu_mul

ARCHS = ["gfx90a", "gfx942", "gfx950"]
DTYPES = ["bf16", "fp32"]

LOADS_16 = r"(global|buffer)_load_dwordx4"
LOADS_NARROWER = r"(global|buffer)_load_(dwordx[23]|dword|ushort|ubyte|short_d16\w*)"
STORES_16 = r"(global|buffer)_store_dwordx4"

pytestmark = [pytest.mark.parametrize("arch", ARCHS), pytest.mark.parametrize("dtype", DTYPES)]


def compiled(arch: str, kernel: Any, dtype: str, block: int, **constants: Any) -> MachineCode:
    """Compiles `kernel` with the argument types that its names imply."""

    def kind(name: str) -> str:
        if name in ("r_ptr", "dot_ptr", "dweight_ptr"):
            return "*fp32"
        if name.endswith("_ptr"):
            return f"*{dtype}"
        return "fp32" if name == "eps" else "i32"

    constants["BLOCK"] = block
    signature = {name: kind(name) for name in kernel.arg_names if name not in constants}
    return compile_for(arch, kernel, signature, constants, warps(block, WAVEFRONT))


@pytest.mark.parametrize("columns", [1024, 4096, 8192, 16384, 32768, 65536])
def test_rmsnorm_forward(arch: str, dtype: str, columns: int) -> None:
    whole = columns <= rmsnorm.FORWARD_ROW_LIMIT
    kernel = rmsnorm.forward_kernel if whole else rmsnorm.forward_blocked_kernel
    code = compiled(arch, kernel, dtype, row_block(columns, rmsnorm.FORWARD_ROW_LIMIT), HAS_WEIGHT=True)
    assert code.spills == 0
    assert code.count(LOADS_16) > 0
    assert code.count(STORES_16) > 0
    assert code.count(LOADS_NARROWER) == 0
    # With four wavefronts a row, 16384 columns would need 111 registers and reach half of this.
    assert code.occupancy >= 8 or columns > 16384 or dtype == "fp32"


@pytest.mark.parametrize("columns", [1024, 4096, 16384])
def test_rmsnorm_backward_of_whole_rows(arch: str, dtype: str, columns: int) -> None:
    block = row_block(columns, rmsnorm.BACKWARD_ROW_LIMIT)
    code = compiled(arch, rmsnorm.backward_kernel, dtype, block, HAS_WEIGHT=True)
    assert code.spills == 0
    assert code.count(LOADS_16) > 0
    assert code.count(LOADS_NARROWER) == 0
    assert code.occupancy >= 4


def test_rmsnorm_backward_of_long_rows(arch: str, dtype: str) -> None:
    block = row_block(65536, rmsnorm.BACKWARD_ROW_LIMIT)
    for kernel in (rmsnorm.row_sums_kernel, rmsnorm.backward_blocked_kernel):
        code = compiled(arch, kernel, dtype, block, HAS_WEIGHT=True)
        assert code.spills == 0
        assert code.count(LOADS_16) > 0
        assert code.occupancy >= 4


@pytest.mark.parametrize("columns", [1024, 4096, 14336])
def test_silu_mul(arch: str, dtype: str, columns: int) -> None:
    for kernel in (silu_mul.forward_kernel, silu_mul.backward_kernel):
        code = compiled(arch, kernel, dtype, silu_mul.column_block(columns))
        assert code.spills == 0
        assert code.count(LOADS_16) > 0
        assert code.count(STORES_16) > 0
        assert code.count(LOADS_NARROWER) == 0
        assert code.occupancy >= 7
