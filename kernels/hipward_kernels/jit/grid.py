"""Limits of the grid of a launch, for each vendor."""

from __future__ import annotations

import torch

HIP = torch.version.hip is not None

MOST_WORK_ITEMS = 2**32 - 1
"""Most work items in a dimension of a launch (blocks times threads) on HIP: the documentation of
`hipModuleLaunchKernel`, "HIP does not support kernel launch with total work items defined in dimension with size
gridDim x blockDim >= 2^32"."""

MOST_BLOCKS = 2**31 - 1
"""Most blocks in the first dimension, on both vendors."""

MOST_BLOCKS_ACROSS = 65535
"""Most blocks in the second and third dimension, on both vendors."""


class GridError(Exception):
    """A launch has more blocks than the device supports; another implementation may need fewer."""


def most_blocks(threads: int) -> int:
    """Most blocks of `threads` threads in the first dimension of a launch."""
    return min(MOST_BLOCKS, MOST_WORK_ITEMS // threads) if HIP else MOST_BLOCKS


def check_grid(grid: tuple[int, ...], threads: int) -> None:
    """Checks a grid against the limits of the device.

    Raises:
        GridError: The grid has too many blocks in a dimension.
    """
    # Fast path: nearly all grids are far below every limit, and this runs at each launch.
    if grid[0] * threads <= MOST_BLOCKS and max(grid[1:], default=1) <= MOST_BLOCKS_ACROSS:
        return
    if grid[0] > most_blocks(threads):
        raise GridError(f"{grid[0]} blocks of {threads} threads; the device launches {most_blocks(threads)}")
    for blocks in grid[1:]:
        if blocks > MOST_BLOCKS_ACROSS:
            raise GridError(f"{blocks} blocks in the second or third dimension; {MOST_BLOCKS_ACROSS} can be launched")
