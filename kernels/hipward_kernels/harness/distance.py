"""How far apart two tensors are. Whether that is too far is decided elsewhere (`precision.py`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

CHUNK = 1 << 22
"""Elements compared at a time: their float64 copies stay small."""


@dataclass(frozen=True)
class Distance:
    """How far a tensor is from another."""

    cosine: float
    max_abs: float
    rms: float
    mismatch: float
    """Share of the elements."""


def distance(got: Tensor, expected: Tensor, limit: float) -> Distance:
    """Compares in float64, a part at a time. `mismatch` counts what is further apart than `limit`."""
    dot = got_square = expected_square = error_square = largest = 0.0
    mismatches = 0
    for a, b in zip(_chunks(got), _chunks(expected), strict=True):
        difference = (a - b).abs()
        dot += float(a @ b)
        got_square += float(a @ a)
        expected_square += float(b @ b)
        error_square += float(difference @ difference)
        largest = max(largest, float(difference.max()))
        mismatches += int((difference > limit).sum())
    count = max(got.numel(), 1)
    norms = math.sqrt(got_square) * math.sqrt(expected_square)
    return Distance(
        cosine=min(1.0, max(-1.0, dot / norms)) if norms else float(got_square == expected_square),
        max_abs=largest,
        rms=math.sqrt(error_square / count),
        mismatch=mismatches / count,
    )


def largest(tensor: Tensor) -> float:
    """Largest absolute value of a tensor's elements."""
    return max((float(part.abs().max()) for part in _chunks(tensor)), default=0.0)


def root_mean_square(tensor: Tensor) -> float:
    """Root of the mean square of a tensor's elements."""
    square = sum(float(part @ part) for part in _chunks(tensor))
    return math.sqrt(square / max(tensor.numel(), 1))


def is_finite(tensor: Tensor) -> bool:
    """Whether no element is NaN or infinite."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    return bool(torch.isfinite(tensor).all())


def _chunks(tensor: Tensor) -> Iterator[Tensor]:
    flat = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    for part in torch.split(flat.detach().reshape(-1), CHUNK):
        if part.numel():
            yield part.double()
