"""Records shapes and dtypes of the tensors that a model passes to its modules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CALLS = 4
"""Most different calls that are recorded of one module."""


MOST_ELEMENTS = 1 << 26
"""Most elements of the random arguments of a call."""


@dataclass(frozen=True)
class Call:
    """One call of a module whose arguments and result were all tensors."""

    shapes: tuple[torch.Size, ...]
    """Shapes of the arguments."""
    dtypes: tuple[torch.dtype, ...]
    device: torch.device
    """Device of the first argument."""

    def of_bounded_size(self) -> Call:
        """The same call with fewer rows if it is large and all arguments have the same number of rows."""
        elements = sum(shape.numel() for shape in self.shapes)
        rows = {shape[0] for shape in self.shapes if shape}
        if elements <= MOST_ELEMENTS or len(rows) != 1 or not all(self.shapes):
            return self
        (count,) = rows
        fewer = max(count * MOST_ELEMENTS // elements, 1)
        return replace(self, shapes=tuple(torch.Size((fewer, *shape[1:])) for shape in self.shapes))

    def random_arguments(self, scale: float, seed: int) -> list[Tensor]:
        """Normally distributed arguments with standard deviation `scale`, created on the device of the call."""
        generator = torch.Generator(self.device).manual_seed(seed)

        def normal(shape: torch.Size, dtype: torch.dtype) -> Tensor:
            # PyTorch has no normal distribution for 8-bit dtypes.
            wide = dtype if dtype == torch.float64 else torch.float32
            made = torch.randn(shape, generator=generator, device=self.device, dtype=wide)
            return made.mul_(scale).to(dtype)

        return [normal(shape, dtype) for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]


def record_calls(model: nn.Module, inputs: Sequence[Any]) -> dict[nn.Module, list[Call]]:
    """Calls the model once; returns the different calls of each module.

    Modules that were called with anything other than floating-point tensors, or that returned anything other than one
    such tensor, are left out, because a `Call` does not describe them completely.
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
        if call not in known and len(known) < MOST_CALLS:
            known.append(call)

    hooks = [module.register_forward_hook(record, with_kwargs=True) for module in model.modules()]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return {module: calls for module, calls in seen.items() if module not in unfit}
