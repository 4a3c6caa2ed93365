"""The launch shape, looked up in what Triton compiled for gfx942."""

from hipward_kernels.exercise import expect

REGISTERS = 128
"""Above 128 of the 512 vector registers of a SIMD lane, fewer than 4 wavefronts fit on a SIMD."""

# By dtype and BLOCK, and by num_warps: vector registers, spilled registers, and loads narrower than 16 bytes.
# The kernel of this page, compiled by Triton 3.9.0 for gfx942 with pointers and strides divisible by 16.
# fmt: off
COMPILED = {
    ("bf16", 1024): {1: (36, 0, 0), 2: (21, 0, 0), 4: (15, 0, 2), 8: (12, 0, 2), 16: (11, 0, 2)},
    ("bf16", 2048): {1: (60, 0, 0), 2: (37, 0, 0), 4: (21, 0, 0), 8: (15, 0, 2), 16: (12, 0, 2)},
    ("bf16", 4096): {1: (138, 0, 0), 2: (60, 0, 0), 4: (37, 0, 0), 8: (21, 0, 0), 16: (15, 0, 2)},
    ("bf16", 8192): {1: (259, 0, 0), 2: (136, 0, 0), 4: (60, 0, 0), 8: (37, 0, 0), 16: (21, 0, 0)},
    ("bf16", 16384): {1: (512, 109, 0), 2: (260, 0, 0), 4: (136, 0, 0), 8: (60, 0, 0), 16: (37, 0, 0)},
    ("bf16", 32768): {2: (512, 109, 0), 4: (260, 0, 0), 8: (136, 0, 0), 16: (68, 0, 0)},
    ("fp32", 1024): {1: (46, 0, 0), 2: (26, 0, 0), 4: (17, 0, 0), 8: (13, 0, 2), 16: (11, 0, 2)},
    ("fp32", 2048): {1: (90, 0, 0), 2: (47, 0, 0), 4: (26, 0, 0), 8: (17, 0, 0), 16: (13, 0, 2)},
    ("fp32", 4096): {1: (170, 0, 0), 2: (90, 0, 0), 4: (47, 0, 0), 8: (26, 0, 0), 16: (17, 0, 0)},
    ("fp32", 8192): {1: (302, 0, 0), 2: (164, 0, 0), 4: (90, 0, 0), 8: (47, 0, 0), 16: (26, 0, 0)},
    ("fp32", 16384): {1: (512, 86, 0), 2: (304, 0, 0), 4: (164, 0, 0), 8: (90, 0, 0), 16: (47, 0, 0)},
    ("fp32", 32768): {2: (512, 98, 0), 4: (304, 0, 0), 8: (164, 0, 0), 16: (90, 0, 0)},
}
# fmt: on


def check(answer, dtype, columns):
    block, warps = answer.launch_shape(columns, {"bf16": 2, "fp32": 4}[dtype], 64)
    power = 1 << (columns - 1).bit_length()
    expect(block == power, f"BLOCK is {block} for {columns} columns, expected {power}")
    expect(warps in (1, 2, 4, 8, 16), f"num_warps is {warps}; it must be 1, 2, 4, 8 or 16")
    where = f"{columns} columns of {dtype}, {warps} warps"
    known = COMPILED[dtype, block]
    expect(warps in known, f"{where}: more than 256 elements in each lane")
    registers, spills, narrow = known[warps]
    expect(spills == 0, f"{where}: {spills} registers are spilled to memory")
    expect(registers <= REGISTERS, f"{where}: {registers} vector registers, at most {REGISTERS}")
    expect(narrow == 0, f"{where}: {narrow} loads are narrower than 16 bytes")


def case_bfloat16(answer, random):
    """1024 to 8192 columns of bfloat16: 16-byte loads only"""
    for block in (1024, 2048, 4096, 8192):
        check(answer, "bf16", block)
        check(answer, "bf16", block - random.randrange(1, block // 2 - 1))


def case_long(answer, random):
    """16384 and 32768 columns: no spills, at most 128 registers"""
    for dtype in ("bf16", "fp32"):
        for columns in (16384, 16385, 32768):
            check(answer, dtype, columns)


def case_float32(answer, random):
    """1024 to 8192 columns of float32"""
    for columns in (1024, 1025, 4096, 8192):
        check(answer, "fp32", columns)


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
