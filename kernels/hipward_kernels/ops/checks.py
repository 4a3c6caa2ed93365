"""Argument checks of the ops, and their error messages.

A fused kernel would read the wrong memory for a tensor that it does not support, so every op checks its arguments.
Valid arguments pass in few steps, because each call pays for them; invalid ones are examined again for the error
message.
"""

from __future__ import annotations

import torch
from torch import Tensor

FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


def tensors(op: str, **arguments: object) -> None:
    """Raises `TypeError` unless each argument is a tensor or None."""
    for name, x in arguments.items():
        if x is not None and not isinstance(x, Tensor):
            raise TypeError(f"{op}: {name} is a {type(x).__name__}; a tensor is needed")


def floating(op: str, name: str, x: Tensor) -> None:
    """Raises `TypeError` unless `x` has a floating dtype of 16 bits or more."""
    try:
        if x.dtype in FLOATING:
            return
    except AttributeError:
        pass
    tensors(op, **{name: x})
    raise TypeError(f"{op}: {name} has dtype {x.dtype}; a floating dtype of 16 bits or more is needed")


def alike(op: str, name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Raises `ValueError` unless both have the same shape, dtype and device: nothing is broadcast or converted."""
    try:
        if x.dtype is other.dtype and x.shape == other.shape and x.device == other.device:
            return
    except AttributeError:
        pass
    tensors(op, **{name: x, other_name: other})
    raise ValueError(
        f"{op}: {name} is {list(x.shape)} {x.dtype} on {x.device}, "
        f"{other_name} is {list(other.shape)} {other.dtype} on {other.device}; they must be alike"
    )


def norm_weight(op: str, x: Tensor, weight: Tensor | None, name: str = "weight") -> None:
    """Raises `ValueError` unless `x` has a last dimension that `weight`, if given, fits; `name` is for the message."""
    shape = x.shape
    if not shape:
        raise ValueError(f"{op}: x is a scalar; a last dimension to normalize is needed")
    if weight is None:
        return
    floating(op, name, weight)
    if weight.shape != shape[-1:]:
        raise ValueError(
            f"{op}: {name} has shape {list(weight.shape)}; the last dimension of x needs {list(x.shape[-1:])}"
        )
    if weight.device != x.device:
        raise ValueError(f"{op}: {name} is on {weight.device}, x on {x.device}")
