"""Linear layers with the same input, joined into one by concatenating their weights and biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hipward_kernels.linear import linear

if TYPE_CHECKING:
    from collections.abc import Sequence


class Joined(nn.Module):
    """One matrix product for several linear layers of the same input size.

    `sizes` are the numbers of outputs of the layers, in order. The weight has shape `[sum(sizes), K]`. If only some
    layers have a bias, the others get zeros.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        first = layers[0]
        for layer in layers[1:]:
            if (layer.in_features, layer.weight.dtype, layer.weight.device) != (
                first.in_features,
                first.weight.dtype,
                first.weight.device,
            ):
                raise ValueError(
                    f"weights are {list(first.weight.shape)} {first.weight.dtype} on {first.weight.device} and "
                    f"{list(layer.weight.shape)} {layer.weight.dtype} on {layer.weight.device}; "
                    "they must share the input's size, dtype and device"
                )
        self.sizes = tuple(layer.out_features for layer in layers)
        trains = any(layer.weight.requires_grad for layer in layers)
        self.weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in layers]), requires_grad=trains)
        # PyTorch types a missing bias as a tensor.
        biases: list[Tensor | None] = [layer.bias for layer in layers]
        self.bias = None
        if any(bias is not None for bias in biases):
            parts = [
                first.weight.new_zeros(size) if bias is None else bias.detach()
                for size, bias in zip(self.sizes, biases, strict=True)
            ]
            self.bias = nn.Parameter(torch.cat(parts), requires_grad=trains)

    def product(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., K]` to `[..., sum(sizes)]`."""
        return linear(x, self.weight, self.bias)
