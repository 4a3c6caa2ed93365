"""The launch shape of a kernel that processes one row in each program."""


def launch_shape(columns: int, element_bytes: int, lanes: int) -> tuple[int, int]:
    """BLOCK and num_warps for a row.

    `lanes` is the number of lanes of a wavefront: 64 on gfx90a, gfx942 and gfx950, 32 on gfx1250 and on NVIDIA.
    """
    block = 1
    while block < columns:
        block *= 2
    # hole: warps
    # Two loads of 16 bytes in each lane: 16 elements of 2 bytes, or 8 of 4 bytes.
    # At least one wavefront, and at most the 1024 lanes of a workgroup.
    warps = block * element_bytes // (32 * lanes)
    warps = max(1, min(warps, 1024 // lanes))
    # end: warps
    return block, warps
