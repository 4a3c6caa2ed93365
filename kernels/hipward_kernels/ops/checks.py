"""What the ops ask of their arguments, and the sentences that refuse them.

A fused kernel that is given a tensor it was not written for reads the wrong memory, so every op checks first. What is
right is found out in few steps, because that is the time of every call; what is wrong is looked at again, for the
sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


def floating(op: str, name: str, x: Tensor) -> None:
    """`x` has a floating dtype of 16 bits or more."""
    if x.dtype not in FLOATING:
        raise TypeError(f"{op}: {name} has dtype {x.dtype}; a floating dtype of 16 bits or more is needed")


def alike(op: str, name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Both have one shape, dtype and device: nothing is broadcast or converted."""
    if x.dtype is not other.dtype or x.shape != other.shape or x.device != other.device:
        raise ValueError(
            f"{op}: {name} is {list(x.shape)} {x.dtype} on {x.device}, "
            f"{other_name} is {list(other.shape)} {other.dtype} on {other.device}; they must be alike"
        )


def norm_weight(op: str, x: Tensor, weight: Tensor | None) -> None:
    """`x` has a last dimension, and `weight`, if there is one, fits it."""
    shape = x.shape
    if not shape:
        raise ValueError(f"{op}: x is a scalar; a last dimension to normalize is needed")
    if weight is None:
        return
    if weight.shape != shape[-1:]:
        raise ValueError(
            f"{op}: weight has shape {list(weight.shape)}; the last dimension of x needs {list(x.shape[-1:])}"
        )
    if weight.device != x.device:
        raise ValueError(f"{op}: weight is on {weight.device}, x on {x.device}")
    floating(op, "weight", weight)
