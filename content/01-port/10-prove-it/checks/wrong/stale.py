# fails: case_stale
# message: The gradient of an earlier step is still there. Set the gradients to None before the step.
"""Two checks for a new machine. Both are called with right and with wrong computations."""

import torch


def accepts(product) -> bool:
    """True if `product(a, b)`, of two bfloat16 matrices, is as exact as bfloat16 permits."""
    # hole: product
    # Random values and three different lengths: zeros, constants and transposed results differ.
    a = torch.randn(192, 320).to(torch.bfloat16)
    b = torch.randn(320, 128).to(torch.bfloat16)
    exact = a.double() @ b.double()
    error = (product(a, b).double() - exact).norm() / exact.norm()
    # Rounding the result to bfloat16 alone gives about 0.002. NaN compares as False.
    return bool(error < torch.finfo(torch.bfloat16).eps)
    # end: product


def without_gradient(model: torch.nn.Module, x: torch.Tensor) -> list[str]:
    """Names of the parameters that get no finite gradient from one training step."""
    # hole: gradients
    model(x).square().mean().backward()
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.isfinite().all()
    ]
    # end: gradients
