"""What the backward passes of the ops share."""

from __future__ import annotations

import torch


def refuse_second_derivative(op: str) -> None:
    """Raises when a backward pass is itself to be differentiated.

    Kernels leave no trace in the graph: without this, a gradient penalty would silently treat them as constants.
    """
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        raise RuntimeError(
            f"{op}: the Triton backward has no derivative of its own. For create_graph=True, use the eager "
            "implementation: `with hipward_kernels.registry.disabled('triton')`."
        )
