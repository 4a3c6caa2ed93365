def launch_shape(columns, element_bytes, lanes):
    block = 1
    while block < columns:
        block *= 2
    elements = 16 // element_bytes
    warps = 1
    while warps * 2 * lanes * elements <= block and warps * 2 * lanes <= 1024:
        warps *= 2
    return block, warps
