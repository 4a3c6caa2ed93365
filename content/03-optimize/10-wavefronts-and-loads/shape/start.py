"""The launch shape of a kernel that processes one row in each program."""


def launch_shape(columns: int, element_bytes: int, lanes: int) -> tuple[int, int]:
    """BLOCK and num_warps for a row.

    `lanes` is the number of lanes of a wavefront: 64 on gfx90a, gfx942 and gfx950, 32 on gfx1250 and on NVIDIA.
    """
    block = 1
    while block < columns:
        block *= 2
    # hole: warps
    warps = 16
    # end: warps
    return block, warps
