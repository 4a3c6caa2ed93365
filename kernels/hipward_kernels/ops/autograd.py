"""What the backward passes of the ops share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def trains(*tensors: Tensor | None) -> bool:
    """Whether a gradient of any of these is wanted."""
    # A loop: a generator would cost each call of an op more than the rest of this.
    if torch.is_grad_enabled():
        for x in tensors:
            if x is not None and x.requires_grad:
                return True
    return False


def refuse_second_derivative(op: str) -> None:
    """Raises when a backward pass is itself to be differentiated.

    Kernels leave no trace in the graph: without this, a gradient penalty would silently treat them as constants.
    """
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        raise RuntimeError(
            f"{op}: the fused backward has no derivative of its own. For create_graph=True, use the eager "
            "implementation: `with hipward_kernels.dispatch.registry.only('eager')`."
        )
