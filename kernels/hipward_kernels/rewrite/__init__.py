"""Puts fused modules into a model that somebody else wrote, keeping only those that compute the same.

Modules are recognized by what they compute, not by their names: a candidate is proposed from a module's
structure (`candidates.py`), then run beside the original on random inputs of the shapes and dtypes that the
model really passes to it (`calls.py`, `verify.py`). Only a candidate that agrees takes the place. A module that
somebody watches through hooks is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.rewrite.calls import record_calls
from hipward_kernels.rewrite.hooks import has_hooks
from hipward_kernels.rewrite.names import keep_names
from hipward_kernels.rewrite.verify import agrees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from torch import nn

    from hipward_kernels.rewrite.calls import Call

    Propose: TypeAlias = Callable[[nn.Module, Sequence[Call]], Iterator[nn.Module]]


@torch.no_grad()
def rewrite(
    model: nn.Module,
    inputs: Sequence[Any],
    propose: Propose,
) -> tuple[nn.Module, list[str]]:
    """Replaces, in `model`, every module for which `propose` has a replacement that agrees.

    Args:
        model: Changed in place; it and its replacements share parameters.
        inputs: Arguments of one call of the model, which is made to see the modules' inputs.
        propose: Yields candidates for a module, most specific first, given the calls that were seen of it.

    Returns:
        The model (or what replaces it, where it matched as a whole) and the replaced modules' names; the
        model as a whole has the name "".
    """
    replaced: list[str] = []
    result = _replace(model, "", record_calls(model, inputs), propose, replaced, {})
    return result, replaced


def _replace(
    module: nn.Module,
    name: str,
    calls: dict[nn.Module, list[Call]],
    propose: Propose,
    replaced: list[str],
    done: dict[nn.Module, nn.Module],
) -> nn.Module:
    """What stands in `module`'s place: a replacement, or itself with its children replaced."""
    if module in done:
        return done[module]
    result = module
    seen = calls.get(module)
    if seen and not has_hooks(module):
        for candidate in propose(module, seen):
            candidate.train(module.training)
            if agrees(module, candidate, seen):
                replaced.append(name)
                keep_names(module, candidate)
                result = candidate
                break
    if result is module:
        for child_name, child in list(module.named_children()):
            path = f"{name}.{child_name}" if name else child_name
            substitute = _replace(child, path, calls, propose, replaced, done)
            if substitute is not child:
                setattr(module, child_name, substitute)
    done[module] = result
    return result
