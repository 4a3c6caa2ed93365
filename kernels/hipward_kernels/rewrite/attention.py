"""Graph pass that replaces attention, as a formula or as a call of PyTorch's function, by the attention router.

The formula is `softmax(f(query @ key.T)) @ value`, where `f` multiplies by numbers, adds masks and fills with very
negative numbers, in any order and with any spelling. The search goes from the softmax back to the first product and
forward to the second, and stops at any unknown operation. A mask that does not depend on arguments of the model is
computed once; a causal one is not stored.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx

from hipward_kernels.attention import MaskKind, attention, classify, refusal
from hipward_kernels.attention.call import Call
from hipward_kernels.rewrite.capture import Found, argument, example, is_buffer, module_of, name_of, overwritten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CASTS = frozenset({"to", "float", "double", "half", "bfloat16", "type", "type_as", "contiguous"})
PRODUCTS = frozenset({"matmul", "bmm"})
SCALINGS = frozenset({"mul", "imul", "truediv", "div", "itruediv"})
NEGLIGIBLE = -1e4
"""Largest number that is added to masked scores: exp(-1e4) is zero in any dtype. Models use -1e4, -1e9, the lowest
number or -inf."""
HIDDEN = -1e8
"""Largest number that masked scores are filled with: adding a score to it in float32 does not change it, so adding and
filling are equivalent, even for a query without visible keys."""


def routed(query: Tensor, key_t: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool, scale: float) -> Tensor:
    """Calls the router with `[B, H, S, D]`, `[B, H, D, S]` and `[B, H, S, D]`, or the same without heads."""
    flat = query.dim() == 3
    if flat:
        query, key_t, value = query.unsqueeze(1), key_t.unsqueeze(1), value.unsqueeze(1)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
    out = attention(
        query.transpose(1, 2), key_t.permute(0, 3, 1, 2), value.transpose(1, 2),
        mask=mask, causal=causal, scale=scale, use_aiter=True,
    ).transpose(1, 2)  # fmt: skip
    return out.squeeze(1) if flat else out


def route_attention(graph: fx.GraphModule, inputs: Sequence[Any]) -> Found:
    """The graph pass; see `capture.py`."""
    found = Found()
    constants = Constants(graph, inputs)
    for node in list(graph.graph.nodes):
        if name_of(node) == "softmax":
            match = _match(node, constants)
            if match is None or not match.fits():
                continue
            found.changed.append(f"softmax(q·kᵀ)·v of {module_of(match.second) or 'the model'}")
            match.replace(graph.graph, constants)
        elif name_of(node) == "scaled_dot_product_attention":
            reason = _replace_call(graph.graph, node)
            if reason is None:
                found.changed.append(f"scaled_dot_product_attention of {module_of(node) or 'the model'}")
            else:
                found.left.append(f"scaled_dot_product_attention is not replaced: {reason}")
        elif name_of(node) == "multi_head_attention_forward":
            if _drop_weights(graph.graph, node):
                found.changed.append(f"nn.MultiheadAttention of {module_of(node) or 'the model'}")
            else:
                found.left.append("nn.MultiheadAttention returns its weights, or uses a fused kernel already")
    return found


@dataclass
class _Match:
    """Attention as a formula."""

    first: fx.Node
    """The product of queries and keys."""
    second: fx.Node
    """The product of weights and values."""
    between: list[fx.Node]
    """Nodes from `second` back to `first`, both included, which are removed if they have no other users."""
    scale: float
    added: list[tuple[fx.Node, float]] = field(default_factory=list)
    """Masks that are added to the scaled scores, with their factors."""
    filled: list[tuple[fx.Node, bool, float]] = field(default_factory=list)
    """Masks, whether they are true where a score is masked, and the fill value."""

    def fits(self) -> bool:
        """Whether the router supports these shapes and dtypes, and no node is overwritten in between."""
        query, key_t, value = (example(x) for x in (self.first.args[0], self.first.args[1], self.second.args[1]))
        out = example(self.second)
        if query is None or key_t is None or value is None or out is None or query.dim() not in (3, 4):
            return False
        if not query.dim() == key_t.dim() == value.dim() or not query.dtype == key_t.dtype == value.dtype == out.dtype:
            return False
        if query.shape[:-2] != key_t.shape[:-2] or key_t.shape[:-2] != value.shape[:-2]:
            return False
        scores = (*query.shape[:-1], key_t.shape[-1])
        for mask in (*(node for node, _ in self.added), *(node for node, _, _ in self.filled)):
            shape = example(mask)
            if shape is None or not 2 <= shape.dim() <= len(scores) or not _broadcasts(shape.shape, scores):
                return False
        nodes = [*self.first.args[:2], self.second.args[1], *(m for m, _ in self.added), *(m for m, *_ in self.filled)]
        return not any(isinstance(node, fx.Node) and overwritten(node) for node in nodes)

    def replace(self, graph: fx.Graph, constants: Constants) -> None:
        """Replaces all nodes by a call of the router."""
        with graph.inserting_before(self.second):
            kind, mask = self._mask(graph, constants)
            out = graph.call_function(
                routed,
                (self.first.args[0], self.first.args[1], self.second.args[1], mask),
                {"causal": kind is MaskKind.CAUSAL, "scale": self.scale},
            )
        out.meta = dict(self.second.meta)
        self.second.replace_all_uses_with(out)
        for node in self.between:
            if not node.users:
                graph.erase_node(node)

    def _mask(self, graph: fx.Graph, constants: Constants) -> tuple[MaskKind, fx.Node | None]:
        masks = [*(node for node, _ in self.added), *(node for node, _, _ in self.filled)]
        if not masks:
            return MaskKind.FULL, None
        values = [constants.value(node) for node in masks]
        if all(isinstance(value, Tensor) for value in values):
            kind = self._kind([value for value in values if isinstance(value, Tensor)])
            if kind is not MaskKind.OTHER:
                return kind, None
        if not self.added and all(value == -math.inf for *_, value in self.filled):
            seen = [graph.call_method("logical_not", (node,)) if hides else node for node, hides, _ in self.filled]
            both = seen[0]
            for other in seen[1:]:
                both = graph.call_function(torch.logical_and, (both, other))
            return MaskKind.OTHER, both
        query = example(self.first)
        assert query is not None  # noqa: S101 - `fits` has looked
        terms = [
            node if factor == 1.0 else graph.call_function(torch.mul, (node, factor)) for node, factor in self.added
        ]
        for node, hides, value in self.filled:
            hidden = node if hides else graph.call_method("logical_not", (node,))
            wide = torch.float64 if query.dtype == torch.float64 else torch.float32
            zeros = graph.call_function(torch.zeros_like, (hidden,), {"dtype": wide})
            terms.append(graph.call_method("masked_fill", (zeros, hidden, value)))
        total = terms[0]
        for term in terms[1:]:
            total = graph.call_function(torch.add, (total, term))
        return MaskKind.OTHER, total

    def _kind(self, values: list[Tensor]) -> MaskKind:
        """Kind of all masks together, from their contents."""
        first, second = example(self.first.args[0]), example(self.first.args[1])
        assert first is not None  # noqa: S101 - `fits` has looked
        assert second is not None  # noqa: S101
        seen: Tensor | None = None
        factors = [factor for _, factor in self.added]
        for value, factor in zip(values, factors, strict=False):
            term = value.double() * factor if value.dtype != torch.bool else value.double()
            hidden = term <= NEGLIGIBLE
            if not bool(((term == 0) | hidden).all()):
                return MaskKind.OTHER
            seen = ~hidden if seen is None else seen & ~hidden
        for value, (_, hides, _) in zip(values[len(factors) :], self.filled, strict=True):
            visible = ~value.bool() if hides else value.bool()
            seen = visible if seen is None else seen & visible
        assert seen is not None  # noqa: S101 - there is a mask
        return classify(seen, first.shape[-2], second.shape[-1])


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return all(size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(to), strict=False))


def _match(softmax: fx.Node, constants: Constants) -> _Match | None:
    """The attention around a softmax, or None."""
    scores = example(softmax)
    if scores is None or argument(softmax, 1, "dim", None) not in (-1, scores.dim() - 1):
        return None
    after = _forward(softmax)
    walk = _Walk(constants, list(reversed(after)))
    if not after or not walk.back(softmax.args[0]):
        return None
    return _Match(walk.between[-1], after[-1], walk.between, walk.factor, walk.added, walk.filled)


def _forward(softmax: fx.Node) -> list[fx.Node]:
    """Nodes from the softmax to the product with the values, both included; empty if there is another op between."""
    path = [softmax]
    while len(path[-1].users) == 1:
        (user,) = path[-1].users
        if not user.args or user.args[0] is not path[-1]:
            return []
        path.append(user)
        name = name_of(user)
        if name in PRODUCTS:
            return path
        drops = name == "dropout" and not argument(user, 2, "training", default=True)
        if name not in CASTS and not drops:
            return []
    return []


@dataclass
class _Walk:
    """The path from the softmax's argument back to the first product, with its scalings and masks."""

    constants: Constants
    between: list[fx.Node]
    factor: float = 1.0
    """Product of the factors of later operations."""
    added: list[tuple[fx.Node, float]] = field(default_factory=list)
    filled: list[tuple[fx.Node, bool, float]] = field(default_factory=list)

    def back(self, node: Any) -> bool:
        """Continues from `node`; returns False if it is not a score or has other users."""
        if not isinstance(node, fx.Node) or len(node.users) != 1 or not node.args:
            return False
        self.between.append(node)
        name = name_of(node)
        if name in PRODUCTS:
            return len(node.args) == 2
        steps: dict[str, Callable[[fx.Node, str], bool]] = {
            **dict.fromkeys(CASTS, lambda cast, _: self.back(cast.args[0])),
            **dict.fromkeys(SCALINGS, self._scaling),
            **dict.fromkeys(("add", "iadd"), self._addition),
            **dict.fromkeys(("masked_fill", "masked_fill_", "where"), self._filling),
        }
        return name in steps and steps[name](node, name)

    def _scaling(self, node: fx.Node, name: str) -> bool:
        if len(node.args) != 2 or node.kwargs:
            return False
        divides = "div" in name
        scores, factor = node.args[0], self.constants.number(node.args[1])
        if factor is None and not divides:
            scores, factor = node.args[1], self.constants.number(node.args[0])
        if factor is None or not factor > 0:
            return False
        self.factor *= 1.0 / factor if divides else factor
        return self.back(scores)

    def _addition(self, node: fx.Node, _: str) -> bool:
        if len(node.args) != 2 or node.kwargs:
            return False
        for scores, mask in (node.args, node.args[::-1]):
            if isinstance(mask, fx.Node):
                walk = copy.copy(self)
                walk.between, walk.filled = [*self.between], [*self.filled]
                walk.added = [*self.added, (mask, self.factor)]
                if walk.back(scores):
                    vars(self).update(vars(walk))
                    return True
        return False

    def _filling(self, node: fx.Node, name: str) -> bool:
        if len(node.args) != 3:
            return False
        hides = True
        scores, mask, fill = node.args
        value = self.constants.number(fill)
        if name == "where":
            mask, fill, scores = node.args
            value = self.constants.number(fill)
            if value is None:
                hides, scores, value = False, fill, self.constants.number(scores)
        if not isinstance(mask, fx.Node) or value is None or value * self.factor > HIDDEN:
            return False
        # Masks that are added later are also added to masked scores, which stay masked.
        self.filled.append((mask, hides, value * self.factor))
        return self.back(scores)


def _replace_call(graph: fx.Graph, node: fx.Node) -> str | None:
    """Replaces a call of PyTorch's function by the router; returns the reason if it is not replaced."""
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    query, key, value, mask, dropout, causal = (argument(node, i, name, None) for i, name in enumerate(names))
    examples = [example(x) for x in (query, key, value)]
    if any(x is None or x.dim() != 4 for x in examples):
        return "its arguments are not [B, H, S, D]"
    q, k, v = (x.transpose(1, 2) for x in examples if x is not None)
    if dropout or (causal and q.shape[1] != k.shape[1]):
        return "it uses dropout, or its mask has another alignment"
    scale: Any = node.kwargs.get("scale")
    try:
        call = Call(q, k, v, example(mask), bool(causal), q.shape[-1] ** -0.5 if scale is None else float(scale), 0.0)
    except (TypeError, ValueError) as error:
        return str(error)
    if reason := refusal("aiter", call, use_aiter=True):
        return reason
    with graph.inserting_before(node):
        key_t = graph.call_method("transpose", (key, -2, -1))
        out = graph.call_function(routed, (query, key_t, value, mask), {"causal": bool(causal), "scale": call.scale})
    out.meta = dict(node.meta)
    node.replace_all_uses_with(out)
    graph.erase_node(node)
    return None


def _drop_weights(graph: fx.Graph, node: fx.Node) -> bool:
    """Makes PyTorch's module use a fused kernel if the weights that it returns are not used."""
    if not node.kwargs.get("need_weights", True) or any(name_of(user) != "getitem" for user in node.users):
        return False
    weights = [user for user in node.users if user.args[1] == 1]
    if any(user.users for user in weights):
        return False
    for user in weights:
        graph.erase_node(user)
    node.kwargs = {**node.kwargs, "need_weights": False}
    return True


class Constants:
    """Values of nodes that depend only on numbers and buffers, not on arguments or parameters of the model."""

    def __init__(self, graph: fx.GraphModule, inputs: Sequence[Any]) -> None:
        self._values: dict[fx.Node, Any] = {}
        self._graph = graph
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        for node, value in zip(placeholders, inputs, strict=False):
            if is_buffer(node) and not overwritten(node):
                self._values[node] = value

    def number(self, node: Any) -> float | None:
        """The value as a number; None if it is not constant or not a single number."""
        value = self.value(node)
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def value(self, node: Any) -> Any:
        """The value of the node, or None if it is not constant."""
        if not isinstance(node, fx.Node):
            return node
        if node in self._values:
            return self._values[node]
        result = None
        known = node.op in ("call_function", "call_method") and not overwritten(node)
        if known and not node.is_impure() and all(self.value(each) is not None for each in node.all_input_nodes):
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), self.value)
            try:
                with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():  # noqa: SLF001
                    target: Any = node.target
                    result = (
                        target(*args, **kwargs) if callable(target) else getattr(args[0], target)(*args[1:], **kwargs)
                    )
            except Exception:  # noqa: BLE001 - whatever it raises, its value is not known
                result = None
        self._values[node] = result
        return result
