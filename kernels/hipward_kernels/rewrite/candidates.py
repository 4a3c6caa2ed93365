"""Proposes fused modules as replacements of a module. `verify.py` checks the proposals.

Proposals depend on the structure (parameters, linear layers, number of arguments), because names differ between models.
To recognize another pattern, add a generator here and call it from the step that uses it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from torch import nn

from hipward_kernels.ops.modules import GatedMLP, RMSNorm, SiLUMul

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hipward_kernels.rewrite.calls import Call

COMMON_EPSILONS = (1e-5, 1e-6, 1e-8)
"""Tried after the module's attributes, for models with a literal in `forward`."""


def fused_ops(module: nn.Module, calls: Sequence[Call]) -> Iterator[nn.Module]:
    """RMSNorm, SiLU×mul, and feed-forward layers built around SiLU×mul."""
    yield from _rmsnorm(module, calls)
    yield from _silu_mul(module)
    for gate, up, down in _gated_projections(module):
        yield GatedMLP(gate, up, down)


def _rmsnorm(module: nn.Module, calls: Sequence[Call]) -> Iterator[nn.Module]:
    parameters = list(module.parameters())
    shapes = {call.shapes for call in calls}
    if any(len(arguments) != 1 for arguments in shapes) or list(module.children()):
        return
    widths = {arguments[0][-1:] for arguments in shapes}
    if len(widths) != 1 or len(parameters) > 1:
        return
    width = widths.pop()
    if any(parameter.shape != width for parameter in parameters):
        return
    weight = parameters[0] if parameters else None
    # Models such as Gemma store the weight minus one.
    for offset, eps in itertools.product((0.0, 1.0) if parameters else (0.0,), _epsilons(module)):
        yield RMSNorm(weight, eps, offset)


def _epsilons(module: nn.Module) -> list[float | None]:
    """The module's own small numbers, then PyTorch's default for `eps=None`, then common values."""
    own = [value for value in vars(module).values() if isinstance(value, float) and 0 <= value < 0.1]
    return list(dict.fromkeys([*own, None, *COMMON_EPSILONS]))


def _silu_mul(module: nn.Module) -> Iterator[nn.Module]:
    if not list(module.parameters()):
        yield SiLUMul()


def _gated_projections(
    module: nn.Module,
) -> Iterator[tuple[nn.Linear, nn.Linear, nn.Linear | None]]:
    """Each assignment of a module's linear layers to gate, up and, if there is a third, down."""
    linears = [child for child in module.modules() if isinstance(child, nn.Linear)]
    owned = {id(parameter) for linear in linears for parameter in linear.parameters()}
    if len(linears) not in (2, 3) or any(id(p) not in owned for p in module.parameters()):
        return
    for gate, up, *rest in itertools.permutations(linears):
        down = rest[0] if rest else None
        if gate.weight.shape == up.weight.shape and (down is None or down.in_features == gate.out_features):
            yield gate, up, down
