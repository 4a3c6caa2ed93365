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
    found = {name: ... for name, parameter in model.named_parameters()}
    # end: gradients
    # Joined projections are split into their parts, so that versions can be compared.
    return {"loss": loss.detach(), **separate(found, model.config)}


def error(got: Tensor, exact: Tensor) -> float:
    """Norm of the difference divided by the norm of the exact tensor, computed in float64."""
    # hole: error
    return ...
    # end: error


def failures(
    exact: dict[str, Tensor], baseline: dict[str, Tensor], candidate: dict[str, Tensor], longest_sum: int
) -> list[str]:
    """Names of the tensors whose error is more than twice the baseline's own plus the rounding allowance.

    `longest_sum`: the length of the longest sum of the computation.
    """
    failed = []
    # hole: compare
    ...
    # end: compare
    return failed
