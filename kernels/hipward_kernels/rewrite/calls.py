"""Sees with which tensors a model calls its modules. Keeps their descriptions, not the tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Sequence

CALLS_KEPT = 4
"""Different calls that are kept of one module."""


@dataclass(frozen=True)
class Call:
    """One call of a module whose arguments and result were all tensors."""

    shapes: tuple[torch.Size, ...]
    """Of the arguments."""
    dtypes: tuple[torch.dtype, ...]
    device: torch.device
    """Of the first argument."""

    def random_arguments(self, scale: float, seed: int) -> list[Tensor]:
        """Normal arguments of these shapes, with standard deviation `scale`, made on the device of the call."""
        generator = torch.Generator(self.device).manual_seed(seed)

        def normal(shape: torch.Size, dtype: torch.dtype) -> Tensor:
            # PyTorch has no normal numbers in 8 bits.
            wide = dtype if dtype == torch.float64 else torch.float32
            made = torch.randn(shape, generator=generator, device=self.device, dtype=wide)
            return made.mul_(scale).to(dtype)

        return [normal(shape, dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]


def record_calls(model: nn.Module, inputs: Sequence[Any]) -> dict[nn.Module, list[Call]]:
    """Calls the model once; for each module, the different calls of it that were seen.

    Modules that were ever called with anything but floating-point tensors, or that returned anything but one
    such tensor, are left out: what they do depends on more than a `Call` says.
    """
    seen: dict[nn.Module, list[Call]] = {}
    unfit: set[nn.Module] = set()

    def record(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        values = (*args, out)
        if kwargs or not args or not all(isinstance(value, Tensor) and value.is_floating_point() for value in values):
            unfit.add(module)
            return
        call = Call(tuple(x.shape for x in args), tuple(x.dtype for x in args), args[0].device)
        known = seen.setdefault(module, [])
        if call not in known and len(known) < CALLS_KEPT:
            known.append(call)

    hooks = [module.register_forward_hook(record, with_kwargs=True) for module in model.modules()]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return {module: calls for module, calls in seen.items() if module not in unfit}
