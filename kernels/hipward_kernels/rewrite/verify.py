"""Checks whether a candidate module computes the same as the original."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.rewrite.calls import Call

SCALES = (1.0, 1e-3, 30.0)
"""Standard deviations of the random inputs: a small one exposes a wrong epsilon, a large one saturation."""

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 4e-3}
"""Largest error relative to the largest value of the original's output. The tolerance for float64 is large, so that
modules which always compute in float32 are recognized."""


def agrees(original: nn.Module, candidate: nn.Module, calls: Sequence[Call]) -> bool:
    """Whether both return the same shape, dtype and values for random inputs like those of each call.

    Values are compared in the dtype of the model and, if that is not float32, also in float32, because rounding to
    bfloat16 would hide a wrong formula. Large calls are compared with fewer rows, which bounds time and memory.
    """
    calls = [call.of_bounded_size() for call in calls]
    pairs = [(original, candidate, calls)]
    if any(dtype != torch.float32 for call in calls for dtype in call.dtypes):
        pairs.append((_in_float32(original), _in_float32(candidate), [_call_in_float32(c) for c in calls]))
    return all(
        _same(first, second, call, scale, seed)
        for first, second, some_calls in pairs
        for seed, call in enumerate(some_calls)
        for scale in SCALES
    )


def _in_float32(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).float()


def _call_in_float32(call: Call) -> Call:
    return type(call)(call.shapes, (torch.float32,) * len(call.shapes), call.device)


def _same(first: nn.Module, second: nn.Module, call: Call, scale: float, seed: int) -> bool:
    arguments = call.random_arguments(scale, seed)
    try:
        expected = first(*(x.clone() for x in arguments))
        got = second(*arguments)
    # The original is user code and the candidate a guess: if either raises, they differ.
    except Exception:  # noqa: BLE001
        return False
    if not isinstance(expected, Tensor) or not isinstance(got, Tensor):
        return False
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return False
    expected, got = expected.double(), got.double()
    error = (got - expected).abs().max()
    return bool(error <= TOLERANCE.get(first_dtype(call), 0.0) * expected.abs().max())


def first_dtype(call: Call) -> torch.dtype:
    """Dtype that determines the tolerance: the coarsest one of the arguments."""
    return max(call.dtypes, key=lambda dtype: torch.finfo(dtype).eps)
