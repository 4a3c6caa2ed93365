"""Joins linear layers that read the same tensor, such as query, key and value projections.

`join` gives such layers one weight: each becomes a `Part` that multiplies by the whole weight and selects its own
columns. `share_products` is a graph pass that computes this product once. Without the pass the parts are correct, but
repeat the product.
"""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.projections.joined import Joined
from hipward_kernels.rewrite.capture import Found, argument, module_of, name_of, overwritten
from hipward_kernels.rewrite.hooks import has_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import fx


class _Together(Joined):
    """The common weight of the layers. Its parts save and load it under the names of the original layers."""

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:  # noqa: FBT001 - as overridden
        pass

    def _load_from_state_dict(self, *_: Any) -> None:
        pass


class Part(nn.Module):
    """One of the layers: its columns of the common product, with its weight and bias."""

    def __init__(self, together: _Together, nth: int, *, bias: bool) -> None:
        super().__init__()
        self.together = together
        self.start = sum(together.sizes[:nth])
        self.out_features = together.sizes[nth]
        self.in_features = together.weight.shape[1]
        self.has_bias = bias

    @property
    def weight(self) -> Tensor:
        """Shape `[out_features, in_features]`: rows of the common weight."""
        return self.together.weight[self.start : self.start + self.out_features]

    @property
    def bias(self) -> Tensor | None:
        """Shape `[out_features]`."""
        both = self.together.bias
        return both[self.start : self.start + self.out_features] if self.has_bias and both is not None else None

    def forward(self, x: Tensor) -> Tensor:
        """`x` of shape `[..., in_features]` to `[..., out_features]`."""
        return torch.narrow(self.together.product(x), -1, self.start, self.out_features)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:  # noqa: FBT001 - as overridden
        for name in ("weight", "bias"):
            value = getattr(self, name)
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,  # noqa: ARG002 - as overridden
        strict: bool,  # noqa: ARG002, FBT001
        missing_keys: list[str],
        unexpected_keys: list[str],  # noqa: ARG002
        error_msgs: list[str],
    ) -> None:
        for name in ("weight", "bias"):
            value, given = getattr(self, name), state_dict.get(prefix + name)
            if value is None:
                continue
            if given is None:
                missing_keys.append(prefix + name)
            elif given.shape != value.shape:
                error_msgs.append(f"{prefix}{name} is {list(given.shape)}; {list(value.shape)} is needed")
            else:
                with torch.no_grad():
                    value.copy_(given)


@torch.no_grad()
def join(model: nn.Module, inputs: Sequence[Any]) -> tuple[list[str], Callable[[], None]]:
    """Joins the layers that read the same tensor in one call; returns their names and a function that undoes it.

    Layers with hooks, layers that share parameters or are called more than once, and subclasses of `nn.Linear`, which
    may compute something else, are not joined.
    """
    names = {module: name for name, module in model.named_modules()}
    owners = Counter(id(p) for _, p in model.named_parameters(remove_duplicate=False))
    places = Counter(id(module) for _, module in model.named_modules(remove_duplicate=False))
    fit = [
        module
        for module in names
        if type(module) is nn.Linear
        and names[module]
        and places[id(module)] == 1
        and not has_hooks(module)
        and all(owners[id(p)] == 1 for p in module.parameters())
    ]
    joined: list[str] = []
    before: list[tuple[nn.Module, str, nn.Module]] = []
    for group in _groups(model, fit, inputs):
        paths = [names[layer] for layer in group]
        together = _Together(group)
        for nth, (layer, path) in enumerate(zip(group, paths, strict=True)):
            parent, _, child = path.rpartition(".")
            owner = model.get_submodule(parent)
            before.append((owner, child, layer))
            part = Part(together, nth, bias=layer.bias is not None)
            setattr(owner, child, part.train(layer.training))
        joined.append(" + ".join(paths))

    def undo() -> None:
        for owner, child, layer in before:
            setattr(owner, child, layer)

    return joined, undo


def _groups(model: nn.Module, fit: Sequence[nn.Linear], inputs: Sequence[Any]) -> list[list[nn.Linear]]:
    """Groups of layers of one parent that were called once with the same tensor."""
    parents = {child: module for module in model.modules() for child in module.children()}

    def kind(layer: nn.Linear) -> tuple[Any, ...]:
        weight = layer.weight
        return layer.in_features, str(weight.dtype), str(weight.device), weight.requires_grad

    alike = Counter((parents[layer], kind(layer)) for layer in fit)
    if not any(count > 1 for count in alike.values()):
        return []
    calls: Counter[nn.Module] = Counter()
    runs: list[tuple[Any, Any, int, list[nn.Linear]]] = []
    latest: dict[nn.Module, int] = {}

    def note(layer: nn.Module, args: tuple[Any, ...]) -> None:
        calls[layer] += 1
        if len(args) != 1 or not isinstance(args[0], Tensor) or not isinstance(layer, nn.Linear):
            calls[layer] += 1
            return
        x, parent = args[0], parents[layer]
        # An inference tensor has no version counter.
        version = -1 if x.is_inference() else x._version  # noqa: SLF001 - counts changes in place
        at = latest.get(parent)
        if at is not None and runs[at][0]() is x and runs[at][2] == version:
            runs[at][3].append(layer)
        else:
            latest[parent] = len(runs)
            runs.append((weakref.ref(x), parent, version, [layer]))

    hooks = [layer.register_forward_pre_hook(note) for layer in fit]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()

    found = []
    for *_, layers in runs:
        once = sorted((layer for layer in layers if calls[layer] == 1), key=kind)
        found += [list(group) for _, group in itertools.groupby(once, kind)]
    return [group for group in found if len(group) > 1]


def share_products(graph: fx.GraphModule, inputs: Sequence[Any]) -> Found:  # noqa: ARG001 - a pass
    """Graph pass (see `capture.py`) that computes the product of joined layers once."""
    found = Found()
    first: dict[tuple[Any, ...], fx.Node] = {}
    for node in list(graph.graph.nodes):
        if name_of(node) != "linear" or not node.users or any(name_of(user) != "narrow" for user in node.users):
            continue
        key = tuple(argument(node, i, name, None) for i, name in enumerate(("input", "weight", "bias")))
        if overwritten(key[0]):
            continue
        if (same := first.setdefault(key, node)) is node:
            continue
        node.replace_all_uses_with(same)
        graph.graph.erase_node(node)
        found.changed.append(module_of(node))
    return found
