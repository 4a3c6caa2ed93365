"""What a linear layer's product asks of its arguments before a route is chosen.

A library that is given another shape than it was told, or a tensor of another device, may read the wrong memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def check(x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Refuses shapes that do not fit and devices that differ; dtypes are PyTorch's matter, since autocast converts."""
    n = weight.shape[0] if weight.dim() else 0
    fits = x.dim() > 0 and weight.dim() == 2 and x.shape[-1] == weight.shape[1] and (bias is None or bias.shape == (n,))
    if not fits:
        shown = "" if bias is None else f", bias {list(bias.shape)}"
        raise ValueError(
            f"linear: x is {list(x.shape)}, weight {list(weight.shape)}{shown}; [..., K], [N, K] and [N] are needed"
        )
    if x.device != weight.device or (bias is not None and bias.device != x.device):
        shown = "" if bias is None else f", bias on {bias.device}"
        raise ValueError(f"linear: x is on {x.device}, weight on {weight.device}{shown}; one device is needed")
