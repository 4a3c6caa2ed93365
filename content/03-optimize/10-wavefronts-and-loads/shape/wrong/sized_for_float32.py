# fails: case_bfloat16
# message: Four elements fill 16 bytes only in float32. In bfloat16 it takes eight.
def launch_shape(columns, element_bytes, lanes):
    block = 1
    while block < columns:
        block *= 2
    warps = max(1, min(block // (4 * lanes), 1024 // lanes))
    return block, warps
