# fails: case_long, case_limit
# message: A workgroup has at most 1024 lanes.
def launch_shape(columns, element_bytes, lanes):
    block = 1
    while block < columns:
        block *= 2
    warps = max(1, block * element_bytes // (32 * lanes))
    return block, warps
