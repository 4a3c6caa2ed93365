"""A bfloat16 weight in the order of AMD's assembly kernels, and back."""

import torch
from torch import Tensor

ROWS, COLUMNS, TOGETHER = 16, 32, 8  # of a tile; and elements that stay together: 16 bytes


def refusal(weight: Tensor) -> str | None:
    """Why a weight cannot be shuffled, or None."""
    # hole: refusal
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
    return shuffle(shuffled)
    # end: unshuffle


def position(row: int, column: int, columns: int) -> int:
    """Where the element of a weight with `columns` columns is in the shuffled memory, counted in elements."""
    # hole: position
    return row * columns + column
    # end: position
