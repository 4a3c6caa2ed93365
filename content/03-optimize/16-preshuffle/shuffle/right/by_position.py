import torch
from torch import Tensor

ROWS, COLUMNS, TOGETHER = 16, 32, 8  # of a tile; and elements that stay together: 16 bytes


def refusal(weight: Tensor) -> str | None:
    if weight.dim() != 2 or weight.dtype != torch.bfloat16:
        return "the weight must be a bfloat16 matrix"
    if weight.shape[0] % ROWS or weight.shape[1] % COLUMNS:
        return f"the sizes must be multiples of {ROWS} and {COLUMNS}"
    return None


def shuffle(weight: Tensor) -> Tensor:
    n, k = weight.shape
    tiles = weight.view(n // ROWS, ROWS, k // COLUMNS, COLUMNS // TOGETHER, TOGETHER)
    return tiles.permute(0, 2, 3, 1, 4).contiguous().view(n, k)


def unshuffle(shuffled: Tensor) -> Tensor:
    n, k = shuffled.shape
    where = [position(row, column, k) for row in range(n) for column in range(k)]
    return shuffled.reshape(-1)[torch.tensor(where)].view(n, k)


def position(row: int, column: int, columns: int) -> int:
    tile = (row // ROWS) * (columns // COLUMNS) + column // COLUMNS
    group, inside = (column % COLUMNS) // TOGETHER, column % TOGETHER
    return tile * ROWS * COLUMNS + group * ROWS * TOGETHER + (row % ROWS) * TOGETHER + inside
