"""Shared code of the backward passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def trains(*tensors: Tensor | None) -> bool:
    """Whether a gradient of any of these tensors is required."""
    # A loop, because a generator would cost each call of an op more than the rest of this function.
    if torch.is_grad_enabled():
        for x in tensors:
            if x is not None and x.requires_grad:
                return True
    return False


def refuse_second_derivative(op: str) -> None:
    """Raises if the backward pass is itself differentiated.

    Kernels are not recorded in the graph, so a gradient penalty would silently treat their results as constants.
    """
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        raise RuntimeError(
            f"{op}: the fused backward has no derivative of its own. For create_graph=True, use the eager "
            "implementation: `with hipward_kernels.dispatch.registry.only('eager')`."
        )
