# fails: case_transposed
# message: x @ x.T is symmetric, so a transposed result looks right. Use two different matrices.
"""Two checks for a new machine. Both are called with right and with wrong computations."""

import torch


def accepts(product) -> bool:
    """True if `product(a, b)`, of two bfloat16 matrices, is as exact as bfloat16 permits."""
    # hole: product
    a = torch.randn(256, 256).to(torch.bfloat16)
    exact = a.double() @ a.double().T
    error = (product(a, a.T).double() - exact).norm() / exact.norm()
    return bool(error < torch.finfo(torch.bfloat16).eps)
    # end: product


def without_gradient(model: torch.nn.Module, x: torch.Tensor) -> list[str]:
    """Names of the parameters that get no finite gradient from one training step."""
    # hole: gradients
    # A gradient that is left from an earlier step would hide a missing one.
    model.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    return [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.isfinite().all()
    ]
    # end: gradients
