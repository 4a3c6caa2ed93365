"""The limit of errors: twice eager's own error, plus the error that rounding explains.

Rounding errors have random signs, so those of a sum of `n` numbers grow with the square root of `n`: Higham and Mary
2019, "A New Approach to Probabilistic Rounding Error Analysis", https://doi.org/10.1137/18M1226312, theorem 2.4. With
sequential addition, the least accurate usual order, float32 numbers give a sum whose root mean square error was
measured as 0.23 to 0.34 times sqrt(n) times the unit roundoff, for products and for squares of normal numbers and `n`
from 256 to 16384. This module allows half of sqrt(n). It matters if eager adds in a tree, whose error hardly grows with
`n`, or is exact by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

ERROR_RATIO = 2.0
"""Errors up to this multiple of eager's own pass: a result as accurate as eager's, but with other roundings, exceeds
eager's error half of the time."""

SUM_SHARE = 0.5
"""Share of sqrt(n) times the unit roundoff; see above."""

LONGEST_ROW = 4096
"""Length that a longer row counts as, because implementations add it in parts; up to `PARTS` times that length, beyond
which each part is as long."""

PARTS = 16
"""Fewest partial sums of a long row: the vector lanes of a CPU. GPUs have many more."""


def unit_roundoff(dtype: torch.dtype) -> float:
    """The largest relative error of one rounding to `dtype`; 0 for integers, which are exact."""
    return torch.finfo(dtype).eps / 2 if dtype.is_floating_point or dtype.is_complex else 0.0


def rounding(dtype: torch.dtype, longest_sum: int) -> float:
    """Relative error that rounding explains in a result that is computed in `dtype`.

    It consists of one rounding of the result and those of a sum of `longest_sum` numbers. Sums of 16-bit numbers are
    accumulated in float32.
    """
    one = unit_roundoff(dtype)
    return one + SUM_SHARE * math.sqrt(longest_sum) * min(one, unit_roundoff(torch.float32))


def row_length(elements: int) -> int:
    """Number of sequential additions in a sum of `elements` elements."""
    return min(elements, max(LONGEST_ROW, elements // PARTS))


def coarsest(dtypes: Iterable[torch.dtype]) -> torch.dtype:
    """The dtype with the largest unit roundoff, without 8-bit types, in which results are not computed."""
    return max((dtype for dtype in dtypes if dtype.itemsize > 1), key=unit_roundoff, default=torch.float64)


@dataclass(frozen=True)
class Limit:
    """Limit of the errors of one computation."""

    longest_sum: int = LONGEST_ROW
    """Length of the longest sum of the computation (`sums.py`)."""
    computed: torch.dtype = torch.float64
    """The coarsest dtype of inputs and parameters. A float32 loss of a 16-bit model is a single number, in which eager
    may be right by chance; rounding in 16 bits explains its error."""
    reference: torch.dtype | None = torch.float64
    """Dtype of the reference; None: that of eager."""

    def allowed(self, dtype: torch.dtype, eager: float, size: float, ratio: float = ERROR_RATIO) -> float:
        """The largest error that passes.

        Args:
            dtype: Dtype of the output.
            eager: Eager's own error. If the reference is not more accurate than eager, the error that rounding explains
                is used instead.
            size: Size of the reference in the norm of the error: root mean square, or largest.
            ratio: Multiple of eager's error that passes.
        """
        computed = coarsest((dtype, self.computed))
        slack = rounding(computed, self.longest_sum) * size
        finer = self.reference is not None and unit_roundoff(self.reference) < unit_roundoff(computed)
        return ratio * (eager if finer else max(eager, slack)) + slack
