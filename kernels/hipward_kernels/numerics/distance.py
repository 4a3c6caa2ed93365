"""Error measures of two tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

CHUNK = {"cpu": 1 << 15, "cuda": 1 << 26}
"""Elements per chunk: float64 copies that fit a processor's cache, but enough work for a GPU. PyTorch computes a chunk
of a processor on one thread; threads that wait for each other are slow if other programs run on the host."""
LARGE = 1 << 24
LARGE_CHUNK = 1 << 20
"""Elements of a large tensor, and of its chunks on a processor: several threads compute each, and seldom wait."""

_ORDERED = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""Floating-point types with a smallest and a largest element."""


@dataclass(frozen=True)
class Distance:
    """Errors of a tensor against another."""

    cosine: float
    max_abs: float
    rms: float
    mismatch: float
    """Share of the elements whose error exceeds the limit."""
    expected_rms: float
    """Root mean square of the other tensor."""


def distance(got: Tensor, expected: Tensor, limit: float = math.inf) -> Distance:
    """Compares in float64, in chunks. `mismatch` counts errors above `limit`."""
    # The sums stay on the device and are read once at the end, so that a GPU does not wait for the host.
    sums = torch.zeros(4, dtype=torch.float64, device=got.device)
    furthest = torch.zeros((), dtype=torch.float64, device=got.device)
    mismatches = torch.zeros((), dtype=torch.int64, device=got.device)
    for a, b in zip(_chunks(got), _chunks(expected), strict=True):
        difference = (a - b).abs_()
        sums += torch.stack([a @ b, a @ a, b @ b, difference @ difference])
        furthest = torch.maximum(furthest, difference.max())
        if limit < math.inf:
            mismatches += (difference > limit).sum()
    dot, got_square, expected_square, error_square = sums.tolist()
    count = max(got.numel(), 1)
    norms = math.sqrt(got_square) * math.sqrt(expected_square)
    return Distance(
        cosine=min(1.0, max(-1.0, dot / norms)) if norms else float(got_square == expected_square),
        max_abs=float(furthest),
        rms=math.sqrt(error_square / count),
        mismatch=int(mismatches) / count,
        expected_rms=math.sqrt(expected_square / count),
    )


def largest(tensor: Tensor) -> float:
    """Largest absolute value of a tensor's elements."""
    parts = [part.abs_().max() for part in _chunks(tensor)]
    return max((float(part) for part in parts), default=0.0)


def root_mean_square(tensor: Tensor) -> float:
    """Root of the mean square of a tensor's elements."""
    parts = [part @ part for part in _chunks(tensor)]
    return math.sqrt(sum(float(part) for part in parts) / max(tensor.numel(), 1))


def is_finite(tensor: Tensor) -> bool:
    """Whether no element is NaN or infinite."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    if not tensor.numel():
        return True
    real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    if real.dtype not in _ORDERED:
        return bool(torch.isfinite(real).all())
    # Reads the tensor once, without a temporary one: NaN spreads to both, and infinity is one of them.
    return all(map(math.isfinite, torch.stack(real.detach().aminmax()).tolist()))


def split(tensor: Tensor) -> tuple[Tensor, ...]:
    """The elements of a tensor in flat chunks, without a copy if it is contiguous."""
    usual = CHUNK.get(tensor.device.type, CHUNK["cpu"])
    return torch.split(tensor.detach().reshape(-1), max(usual, LARGE_CHUNK) if tensor.numel() >= LARGE else usual)


def _chunks(tensor: Tensor) -> Iterator[Tensor]:
    for part in split(torch.view_as_real(tensor) if tensor.is_complex() else tensor):
        if part.numel():
            # Always a copy, because callers modify it.
            yield part.to(torch.float64, copy=True)
