# fails: case_bfloat16, case_float32, case_limit
# message: This is the number for warps of 32 lanes. A wavefront has 64 on gfx9.
def launch_shape(columns, element_bytes, lanes):
    block = 1
    while block < columns:
        block *= 2
    warps = max(1, min(block * element_bytes // (16 * 32), 16))
    return block, warps
