# fails: case_bfloat16, case_long, case_short, case_limit
# message: The same number of warps suits neither short nor long rows.
def launch_shape(columns, element_bytes, lanes):
    block = 1
    while block < columns:
        block *= 2
    warps = 4
    return block, warps
