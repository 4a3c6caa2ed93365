"""How large an error may be: twice eager's own, plus what rounding explains.

Rounding errors have random signs, so those of a sum of `n` numbers grow with the square root of `n`: Higham and Mary
2019, "A New Approach to Probabilistic Rounding Error Analysis", https://doi.org/10.1137/18M1226312, theorem 2.4. Added
one after the other, the least accurate usual order, float32 numbers give a sum whose root mean square error was
measured as 0.23 to 0.34 times sqrt(n) times the unit roundoff, for products and for squares of normal numbers and `n`
from 256 to 16384. Half of sqrt(n) is the allowance here. It matters where eager adds in a tree, whose error hardly
grows with `n`, or happens to be exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

ERROR_RATIO = 2.0
"""Errors up to this multiple of eager's own pass: a candidate that is as good as eager, but rounds elsewhere, is above
eager's error half of the time."""

SUM_SHARE = 0.5
"""Of sqrt(n) times the unit roundoff; see above."""

LONGEST_ROW = 4096
"""A row with more elements counts as one of so many, because implementations add longer ones in parts; up to `PARTS`
times as many, from where on one of the parts is as long."""

PARTS = 16
"""Fewest partial sums of a long row: the lanes of a CPU's vectors. GPUs have many more."""


def unit_roundoff(dtype: torch.dtype) -> float:
    """The largest relative error of one rounding to `dtype`; 0 for integers, which are exact."""
    return torch.finfo(dtype).eps / 2 if dtype.is_floating_point or dtype.is_complex else 0.0


def rounding(dtype: torch.dtype, longest_sum: int) -> float:
    """Relative error that rounding explains in a result that is computed in `dtype`.

    One rounding of the result, and those of a sum of `longest_sum` numbers. Sums of 16-bit numbers are accumulated in
    float32.
    """
    one = unit_roundoff(dtype)
    return one + SUM_SHARE * math.sqrt(longest_sum) * min(one, unit_roundoff(torch.float32))


def row_length(elements: int) -> int:
    """Additions in a row that rounding explains, one after the other, in a sum of so many elements."""
    return min(elements, max(LONGEST_ROW, elements // PARTS))


def coarsest(dtypes: Iterable[torch.dtype]) -> torch.dtype:
    """The one with the largest unit roundoff; 8-bit types are left out, because results are not computed in them."""
    return max((dtype for dtype in dtypes if dtype.itemsize > 1), key=unit_roundoff, default=torch.float64)


@dataclass(frozen=True)
class Limit:
    """What the errors of one computation may be."""

    longest_sum: int = LONGEST_ROW
    """Numbers that the longest sum of the computation adds (`sums.py`)."""
    computed: torch.dtype = torch.float64
    """The coarsest dtype of inputs and parameters. A float32 loss of a 16-bit model is one or few numbers, of which
    eager's may be right by chance; what rounding explains in them is that of 16 bits."""
    reference: torch.dtype | None = torch.float64
    """What the reference was computed in; None: in the dtypes that eager itself computes in."""

    def allowed(self, dtype: torch.dtype, eager: float, size: float, ratio: float = ERROR_RATIO) -> float:
        """The largest error that passes.

        Args:
            dtype: Of the output.
            eager: Eager's own error. A reference that is no finer than eager cannot tell it; then it is taken to be
                what rounding explains.
            size: Of the reference, by the same norm as the error: root mean square, or largest.
            ratio: Multiple of eager's error that passes.
        """
        computed = coarsest((dtype, self.computed))
        slack = rounding(computed, self.longest_sum) * size
        finer = self.reference is not None and unit_roundoff(self.reference) < unit_roundoff(computed)
        return ratio * (eager if finer else max(eager, slack)) + slack
