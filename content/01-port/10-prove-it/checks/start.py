"""Two checks for a new machine. Both are called with right and with wrong computations."""

import torch


def accepts(product) -> bool:
    """True if `product(a, b)`, of two bfloat16 matrices, is as exact as bfloat16 permits."""
    # hole: product
    a = torch.ones(64, 64, dtype=torch.bfloat16)
    return not product(a, a).isnan().any()
    # end: product


def without_gradient(model: torch.nn.Module, x: torch.Tensor) -> list[str]:
    """Names of the parameters that get no finite gradient from one training step."""
    # hole: gradients
    loss = model(x).square().mean()
    loss.backward()
    return [] if loss.isfinite() else [name for name, _ in model.named_parameters()]
    # end: gradients
