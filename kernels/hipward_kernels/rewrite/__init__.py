"""Replaces modules of an existing model by fused ones that compute the same.

Modules are recognized by their results and not by their names: a candidate is proposed from a module's structure
(`candidates.py`), then compared with the original on random inputs with the shapes and dtypes that the model passes to
it (`calls.py`, `verify.py`). A candidate replaces the original only if their results agree. Modules with hooks are not
replaced. `steps.py` applies all optimizations of this folder to a model.
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
    """Replaces every module of `model` for which `propose` yields a candidate with the same results.

    Args:
        model: Changed in place; replacements share the parameters of the originals.
        inputs: Arguments of one call of the model, which is made to record the inputs of its modules.
        propose: Yields candidates for a module, most specific first, from the recorded calls of the module.

    Returns:
        The model, or its replacement if it matched as a whole, and the names of the replaced modules. The name of the
        whole model is "".
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
    """Returns the replacement of `module`, or `module` with its children replaced."""
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
