# fails: case_bfloat16, case_limits
# message: In bfloat16 the baseline itself is not within a fixed tolerance, and in float32 it accepts far more than rounding explains.
"""Is a version trained like the baseline? Compares the loss and every gradient with float64."""

import math

import torch
from hipward_kernels.models.weights import separate
from hipward_kernels.numerics.limit import rounding
from torch import Tensor


def computed(model, tokens: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """The loss, and the gradient of every parameter by the names of separate projections.

    A parameter that gets no gradient is in the result too, with NaN.
    """
    model.zero_grad(set_to_none=True)
    loss = model(tokens, labels)
    loss.backward()
    # hole: gradients
    # Without the NaN, a name would be missing in the result, and would not be compared.
    found = {
        name: torch.full_like(parameter, math.nan) if parameter.grad is None else parameter.grad
        for name, parameter in model.named_parameters()
    }
    # end: gradients
    # Joined projections are split into their parts, so that versions can be compared.
    return {"loss": loss.detach(), **separate(found, model.config)}


def error(got: Tensor, exact: Tensor) -> float:
    """Norm of the difference divided by the norm of the exact tensor, computed in float64."""
    # hole: error
    exact = exact.double()
    return float((got.double() - exact).norm() / exact.norm())
    # end: error


def failures(
    exact: dict[str, Tensor], baseline: dict[str, Tensor], candidate: dict[str, Tensor], longest_sum: int
) -> list[str]:
    """Names of the tensors whose error is more than twice the baseline's own plus the rounding allowance.

    `longest_sum`: the length of the longest sum of the computation.
    """
    failed = []
    # hole: compare
    for name, reference in exact.items():
        if not error(candidate[name], reference) <= 1e-4:
            failed.append(name)
    # end: compare
    return failed
