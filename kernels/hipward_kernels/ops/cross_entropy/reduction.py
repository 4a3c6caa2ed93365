"""The sum or mean of the losses of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def reduced(losses: Tensor, labels: Tensor, ignore_index: int, reduction: str) -> Tensor:
    """The `sum` of the losses, or their `mean` over the rows whose label is not `ignore_index`."""
    total = losses.sum()
    return total if reduction == "sum" else total / (labels != ignore_index).sum()
