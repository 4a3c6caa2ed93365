"""How a job divides its time limit among the preparations of its variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hipward_kernels.harness.variants import COMPILED, CONTROL, MODEL_NEW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.harness.lines import VariantId

WEIGHTS: dict[VariantId, float] = {CONTROL: 2.0, COMPILED: 3.0, MODEL_NEW: 3.0}
"""Weights of the required variants. The others have 1, and are left out if the result would be late."""

SOON_S = 60.0
"""Time after which no optional variant is prepared in a job with a time limit: a person waits for the result."""


def is_optional(variant: VariantId) -> bool:
    """Whether a variant may be left out so that the result is ready soon."""
    return variant not in WEIGHTS


def share_s(rest: Sequence[VariantId], left_s: float, optional_s: float) -> float:
    """Seconds for the preparation of the first of the variants that are left.

    Args:
        rest: The variants that are not prepared, in order.
        left_s: Time for all of them; infinite without a time limit.
        optional_s: Time after which no optional variant is prepared. Required variants divide what is left after it
            among themselves.
    """
    if math.isinf(left_s):
        return left_s
    optional_s = min(left_s, optional_s)
    required = _weight([variant for variant in rest if not is_optional(variant)])
    if is_optional(rest[0]):
        return optional_s / _weight(rest)
    left_s -= max(optional_s, 0.0) * (1.0 - required / _weight(rest))
    return left_s * _weight(rest[:1]) / required


def _weight(variants: Sequence[VariantId]) -> float:
    return sum(WEIGHTS.get(variant, 1.0) for variant in variants)
