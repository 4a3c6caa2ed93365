"""A bfloat16 weight in the order of AMD's assembly kernels, and back."""

import torch
from torch import Tensor

ROWS, COLUMNS, TOGETHER = 16, 32, 8  # of a tile; and elements that stay together: 16 bytes


def refusal(weight: Tensor) -> str | None:
    """Why a weight cannot be shuffled, or None."""
    # hole: refusal
    if weight.dim() != 2 or weight.dtype != torch.bfloat16:
        return "the weight must be a bfloat16 matrix"
    if weight.shape[0] % ROWS or weight.shape[1] % COLUMNS:
        return f"the sizes must be multiples of {ROWS} and {COLUMNS}"
    return None
    # end: refusal


def shuffle(weight: Tensor) -> Tensor:
    """Tile by tile; in a tile, the first 8 columns of all 16 rows, then the next 8 columns, and so on."""
    n, k = weight.shape
    tiles = weight.view(n // ROWS, ROWS, k // COLUMNS, COLUMNS // TOGETHER, TOGETHER)
    return tiles.permute(0, 2, 3, 1, 4).contiguous().view(n, k)


def unshuffle(shuffled: Tensor) -> Tensor:
    """The weight in its usual order."""
    n, k = shuffled.shape
    # hole: unshuffle
    # Name the dimensions in the order of memory: tile row, tile column, group of columns, row, column.
    tiles = shuffled.view(n // ROWS, k // COLUMNS, COLUMNS // TOGETHER, ROWS, TOGETHER)
    return tiles.permute(0, 3, 1, 2, 4).contiguous().view(n, k)
    # end: unshuffle


def position(row: int, column: int, columns: int) -> int:
    """Where the element of a weight with `columns` columns is in the shuffled memory, counted in elements."""
    # hole: position
    tile = (row // ROWS) * (columns // COLUMNS) + column // COLUMNS
    group, inside = (column % COLUMNS) // TOGETHER, column % TOGETHER
    return tile * ROWS * COLUMNS + group * ROWS * TOGETHER + (row % ROWS) * TOGETHER + inside
    # end: position
