"""The launch shape, compiled into machine code for AMD GPUs."""

import os
import re

os.environ.pop("TRITON_INTERPRET", None)  # the interpreter does not compile

import triton
import triton.language as tl
from hipward_kernels.exercise import expect
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

REGISTERS = 128
"""Above 128 of the 512 vector registers of a SIMD lane, fewer than 4 wavefronts fit on a SIMD."""


@triton.jit
def kernel(x_ptr, weight_ptr, y_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(y_ptr + row * columns + column, (x * rstd * weight).to(y_ptr.dtype.element_ty), mask=mask)


def assembly(arch, dtype, block, warps):
    signature = dict.fromkeys(("x_ptr", "weight_ptr", "y_ptr"), f"*{dtype}")
    signature |= {"stride": "i32", "columns": "i32", "eps": "fp32", "BLOCK": "constexpr"}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(5)}
    source = ASTSource(kernel, signature=signature, constexprs={"BLOCK": block}, attrs=attributes)
    options = {"num_warps": warps, "enable_fp_fusion": True}
    return triton.compile(source, target=GPUTarget("hip", arch, 64), options=options).asm["amdgcn"]


def check(answer, arch, dtype, columns):
    block, warps = answer.launch_shape(columns, {"bf16": 2, "fp32": 4}[dtype], 64)
    expect(block >= columns, f"BLOCK is {block} for {columns} columns")
    expect(0 < warps <= 16 and warps & (warps - 1) == 0, f"num_warps is {warps}; it must be 1, 2, 4, 8 or 16")
    code = assembly(arch, dtype, block, warps)
    where = f"{columns} columns of {dtype}, {warps} warps, {arch}"
    spills = int(re.search(r"\.vgpr_spill_count:\s+(\d+)", code)[1])
    expect(spills == 0, f"{where}: {spills} registers are spilled to memory")
    used = int(re.search(r"\.vgpr_count:\s+(\d+)", code)[1])
    expect(used <= REGISTERS, f"{where}: {used} vector registers, at most {REGISTERS}")
    narrow = len(re.findall(r"(?:global|buffer)_load_(?!dwordx4)\w+", code))
    expect(narrow == 0, f"{where}: {narrow} loads are narrower than 16 bytes")


def case_wide(answer, random):
    """2048 and 4096 columns of bfloat16 on gfx942: 16-byte loads only"""
    for columns in (2048, 4096):
        check(answer, "gfx942", "bf16", columns)


def case_long(answer, random):
    """32768 columns on gfx950: no spills, at most 128 registers"""
    check(answer, "gfx950", "bf16", 32768)


def case_float32(answer, random):
    """Rows of float32 on gfx90a"""
    check(answer, "gfx90a", "fp32", 1024)


def case_short(answer, random):
    """Short rows have one wavefront"""
    for columns in (1, 5, 64, 65):
        _, warps = answer.launch_shape(columns, 2, 64)
        expect(warps == 1, f"{warps} warps for {columns} columns of bfloat16: the lanes would have too few elements")


def case_limit(answer, random):
    """At most 1024 lanes, for wavefronts of 64 and of 32 lanes"""
    for lanes in (32, 64):
        _, warps = answer.launch_shape(32768, 4, lanes)
        expect(warps * lanes <= 1024, f"{warps} warps of {lanes} lanes are {warps * lanes} lanes, more than 1024")
    narrow, wide = answer.launch_shape(8192, 2, 32)[1], answer.launch_shape(8192, 2, 64)[1]
    expect(narrow == 2 * wide, f"{narrow} warps of 32 lanes and {wide} of 64: the number of lanes must be the same")
