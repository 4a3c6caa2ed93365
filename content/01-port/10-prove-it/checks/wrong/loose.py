# fails: case_eight_bits
# message: A tolerance of 10 % accepts a product in 8 bits. Derive it from the precision of bfloat16.
"""Two checks for a new machine. Both are called with right and with wrong computations."""

import torch


def accepts(product) -> bool:
    """True if `product(a, b)`, of two bfloat16 matrices, is as exact as bfloat16 permits."""
    # hole: product
    a = torch.randn(192, 320).to(torch.bfloat16)
    b = torch.randn(320, 128).to(torch.bfloat16)
    exact = a.double() @ b.double()
    error = (product(a, b).double() - exact).norm() / exact.norm()
    return bool(error < 0.1)
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
