"""Two checks for a new machine. Both are called with right and with wrong computations."""

import torch


def accepts(product) -> bool:
    """True if `product(a, b)`, of two bfloat16 matrices, is as exact as bfloat16 permits."""
    # hole: product
    a, b = torch.randn(2, 128, 128).to(torch.bfloat16)
    exact = torch.matmul(a.double(), b.double())
    difference = product(a, b).double() - exact
    error = difference.square().mean().sqrt() / exact.square().mean().sqrt()
    return error.item() < 2**-7
    # end: product


def without_gradient(model: torch.nn.Module, x: torch.Tensor) -> list[str]:
    """Names of the parameters that get no finite gradient from one training step."""
    # hole: gradients
    parameters = dict(model.named_parameters())
    loss = model(x).float().pow(2).sum()
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    pairs = zip(parameters, found, strict=True)
    return [name for name, g in pairs if g is None or not torch.isfinite(g).all()]
    # end: gradients
