# fails: case_refusal
# message: Sizes that are no multiples of a tile are accepted.
import torch
from torch import Tensor

ROWS, COLUMNS, TOGETHER = 16, 32, 8  # of a tile; and elements that stay together: 16 bytes


def refusal(weight: Tensor) -> str | None:
    if weight.dim() != 2 or weight.dtype != torch.bfloat16:
        return "the weight must be a bfloat16 matrix"
    return None


def shuffle(weight: Tensor) -> Tensor:
    n, k = weight.shape
    tiles = weight.view(n // ROWS, ROWS, k // COLUMNS, COLUMNS // TOGETHER, TOGETHER)
    return tiles.permute(0, 2, 3, 1, 4).contiguous().view(n, k)


def unshuffle(shuffled: Tensor) -> Tensor:
    n, k = shuffled.shape
    tiles = shuffled.view(n // ROWS, k // COLUMNS, COLUMNS // TOGETHER, ROWS, TOGETHER)
    return tiles.permute(0, 3, 1, 2, 4).contiguous().view(n, k)


def position(row: int, column: int, columns: int) -> int:
    tile = (row // ROWS) * (columns // COLUMNS) + column // COLUMNS
    group, inside = (column % COLUMNS) // TOGETHER, column % TOGETHER
    return tile * ROWS * COLUMNS + group * ROWS * TOGETHER + (row % ROWS) * TOGETHER + inside
