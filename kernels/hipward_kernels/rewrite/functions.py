"""Graph pass that replaces calls of PyTorch's functions by fused ops.

Calls that are one op: `softmax` of the last dimension, `layer_norm` and `rms_norm` of one dimension, `cross_entropy` of
rows of logits. Calls that are one op together: `silu` or `gelu` (tanh form) and a product, an addition and the RMSNorm
of the sum, and the rotation of RoPE as Hugging Face's models write it, whose tables are constants of the model. A call
with other arguments stays as it is.

Modules that compute an op in another way are replaced by `candidates.py`. Their calls of ops are nodes of the graph as
well, so that an addition before such a norm is found, too.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx

from hipward_kernels.dispatch import registry
from hipward_kernels.rewrite.attention import Constants
from hipward_kernels.rewrite.capture import Found, argument, example, is_elementwise, module_of, name_of, overwritten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""Dtypes of the fused kernels."""


SMALLEST_COMPILED = 32 << 20
"""Smallest tensor of a call, in bytes, that is worth an operator in compiled code. The compiler fuses smaller calls
with their neighbours, and the host needs more time to call an operator than a GPU to process them: with operators, a
vision transformer with tensors of a few MiB takes 2.6 instead of 1.4 ms on an H100."""


@dataclass(frozen=True)
class _Replacement:
    """A node and the op that computes the same."""

    op: str
    arguments: tuple[Any, ...]
    title: str
    back: Callable[[fx.Graph, fx.Node], fx.Node] | None = None
    """Adds nodes that give the op's result the shape and dtype of the replaced node."""
    heads_second: bool | None = None
    """For RoPE: the layout of `rotated`."""


def use_ops(graph: fx.GraphModule, inputs: Sequence[Any]) -> Found:
    """The pass for graphs that run without a compiler; see `capture.py`."""
    return _use_ops(graph, inputs)


def use_large_ops(graph: fx.GraphModule, inputs: Sequence[Any]) -> Found:
    """The pass for graphs that are compiled."""
    return _use_ops(graph, inputs, compiled=True)


def _use_ops(graph: fx.GraphModule, inputs: Sequence[Any], *, compiled: bool = False) -> Found:
    found = Found()
    small = fused = 0
    constants = Constants(graph, inputs)
    for node in list(graph.graph.nodes):
        replacement = _match(node, constants)
        if replacement is None and _rms_norm(node) is None:
            continue
        if compiled and _bytes(node) < SMALLEST_COMPILED:
            small += replacement is not None
            continue
        if compiled and _is_fused_with(_readers(node), node):
            fused += replacement is not None
            continue
        done = _add_rmsnorm(graph.graph, node)
        if done is None:
            if replacement is None or _overwritten(replacement.arguments):
                continue
            if compiled and _is_fused_with(map(_source, replacement.arguments), node):
                fused += 1
                continue
            _replace(graph.graph, node, replacement)
            done = replacement.title
        found.changed.append(f"{done} of {module_of(node) or 'the model'}")
    graph.graph.eliminate_dead_code()
    if small:
        limit = SMALLEST_COMPILED >> 20
        found.left.append(f"calls with tensors below {limit} MiB are left to the compiler ({small})")
    if fused:
        found.left.append(f"calls that the compiler fuses with the operation before or after are left to it ({fused})")
    return found


def _match(node: fx.Node, constants: Constants) -> _Replacement | None:
    """The op that replaces a node."""
    return next(filter(None, (match(node, constants) for match in _MATCHES)), None)


_VIEWS = frozenset(
    {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose", "permute", "contiguous"}
)


def _source(node: Any) -> Any:
    """The node whose result a view shows."""
    while isinstance(node, fx.Node) and name_of(node) in _VIEWS and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _readers(node: fx.Node) -> Iterator[fx.Node]:
    """The nodes that read a node's result, directly or through views."""
    for user in node.users:
        if name_of(user) in _VIEWS:
            yield from _readers(user)
        else:
            yield user


def _is_fused_with(neighbours: Iterable[Any], node: fx.Node) -> bool:
    """Whether the compiler fuses one of the nodes before or after a call with it: element by element, and no smaller.

    Around an operator, such a neighbour reads or writes the tensor once more. KernelBench's LayerNorm before a GELU
    took 3.7 instead of 2.3 ms on an H100, and its softmax between a clamp and a product 2.9 instead of 2.0 on an H200.
    """
    like = example(node)
    return like is not None and any(
        isinstance(other, fx.Node)
        and is_elementwise(other)
        and (tensor := example(other)) is not None
        and tensor.numel() >= like.numel()
        for other in neighbours
    )


def _bytes(node: fx.Node) -> int:
    """Bytes of the largest tensor that a node reads."""
    tensors = [found for each in node.all_input_nodes if (found := example(each)) is not None]
    return max((tensor.numel() * tensor.element_size() for tensor in tensors), default=0)


def _replace(graph: fx.Graph, node: fx.Node, replacement: _Replacement) -> None:
    with graph.inserting_before(node):
        if replacement.heads_second is None:
            result = graph.call_function(registry.run_whole, (replacement.op, *replacement.arguments))
        else:
            result = graph.call_function(rotated, replacement.arguments, {"heads_second": replacement.heads_second})
        result.meta = dict(node.meta)
        if replacement.back is not None:
            result = replacement.back(graph, result)
            result.meta = dict(node.meta)
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _name(node: Any) -> str:
    return name_of(node) if isinstance(node, fx.Node) else ""


def _overwritten(arguments: Sequence[Any]) -> bool:
    return any(isinstance(x, fx.Node) and overwritten(x) for x in arguments)


def _fits(node: Any) -> Tensor | None:
    """The example of a node that fused kernels take: floating, with a last dimension."""
    found = example(node)
    return found if found is not None and found.dtype in DTYPES and found.dim() and found.numel() else None


def _softmax(node: fx.Node, _: Constants) -> _Replacement | None:
    if _name(node) != "softmax":
        return None
    x, dim = argument(node, 0, "input", None), argument(node, 1, "dim", None)
    like = _fits(x)
    # The third argument of `F.softmax` is `_stacklevel`, that of the others is `dtype`.
    plain = node.kwargs.get("dtype") is None and all(isinstance(rest, int) for rest in node.args[2:])
    if like is None or not plain or not isinstance(dim, int) or dim % like.dim() != like.dim() - 1:
        return None
    return _Replacement("softmax", (x,), "softmax")


def _layernorm(node: fx.Node, _: Constants) -> _Replacement | None:
    if _name(node) != "layer_norm":
        return None
    x, shape = argument(node, 0, "input", None), argument(node, 1, "normalized_shape", ())
    weight, bias = argument(node, 2, "weight", None), argument(node, 3, "bias", None)
    eps = argument(node, 4, "eps", 1e-5)
    if _fits(x) is None or not _one_dimension(x, shape) or not isinstance(eps, float):
        return None
    return _Replacement("layernorm", (x, weight, bias, eps), "LayerNorm")


def _one_dimension(x: fx.Node, shape: Any) -> bool:
    like = example(x)
    return like is not None and isinstance(shape, (tuple, list)) and tuple(shape) == tuple(like.shape[-1:])


def _rms_norm(node: fx.Node) -> tuple[fx.Node, Any, float] | None:
    """Input, weight and epsilon of an RMSNorm, of PyTorch or of this package."""
    if _name(node) == "run_whole" and node.args[0] == "rmsnorm":
        given: tuple[Any, ...] = node.args
        _, x, weight, eps = given
        return (x, weight, float(eps)) if _fits(x) is not None else None
    if _name(node) != "rms_norm":
        return None
    x, shape = argument(node, 0, "input", None), argument(node, 1, "normalized_shape", ())
    weight, eps = argument(node, 2, "weight", None), argument(node, 3, "eps", None)
    if _fits(x) is None or not _one_dimension(x, shape) or not isinstance(eps, (float, type(None))):
        return None
    # PyTorch's kernels compute 16-bit inputs in float32 and use its epsilon.
    return x, weight, torch.finfo(torch.float32).eps if eps is None else eps


def _rmsnorm(node: fx.Node, _: Constants) -> _Replacement | None:
    found = _rms_norm(node) if _name(node) == "rms_norm" else None
    return None if found is None else _Replacement("rmsnorm", found, "RMSNorm")


def _add_rmsnorm(graph: fx.Graph, node: fx.Node) -> str | None:
    """Replaces an RMSNorm of a sum, and the sum."""
    found = _rms_norm(node)
    if found is None:
        return None
    total, weight, eps = found
    if _name(total) != "add" or total.kwargs or len(total.args) != 2 or overwritten(total):
        return None
    summands = total.args
    like, first, second = example(total), *(example(x) for x in summands)
    if like is None or first is None or second is None:
        return None
    if not first.shape == second.shape == like.shape or not first.dtype == second.dtype == like.dtype:
        return None
    if _overwritten(summands) or not _is_input(weight):
        return None
    with graph.inserting_before(total):
        both = graph.call_function(registry.run_whole, ("add_rmsnorm", *summands, weight, eps))
        y, new_total = (graph.call_function(operator.getitem, (both, at)) for at in (0, 1))
    y.meta, new_total.meta = dict(node.meta), dict(total.meta)
    node.replace_all_uses_with(y)
    total.replace_all_uses_with(new_total)
    graph.erase_node(node)
    graph.erase_node(total)
    return "add+RMSNorm"


def _is_input(weight: Any) -> bool:
    """Whether a weight exists before any node is computed, or is missing."""
    return weight is None or (isinstance(weight, fx.Node) and weight.op in ("placeholder", "get_attr"))


def _gated(node: fx.Node, _: Constants) -> _Replacement | None:
    if _name(node) != "mul" or len(node.args) != 2 or node.kwargs:
        return None
    for active, other in (node.args, node.args[::-1]):
        if not isinstance(active, fx.Node) or len(active.users) != 1:
            continue
        op = {"silu": "silu_mul", "gelu": "gelu_mul"}.get(_name(active))
        gate = argument(active, 0, "input", None)
        if op is None or not _alike(gate, other):
            continue
        if op == "silu_mul" and argument(active, 1, "inplace", None):
            continue
        if op == "gelu_mul" and active.kwargs.get("approximate") != "tanh":
            continue
        return _Replacement(op, (gate, other), "SiLU×mul" if op == "silu_mul" else "GELU×mul")
    return None


def _alike(first: Any, second: Any) -> bool:
    one, other = _fits(first), _fits(second)
    return one is not None and other is not None and one.shape == other.shape and one.dtype == other.dtype


def _cross_entropy(node: fx.Node, _: Constants) -> _Replacement | None:
    if _name(node) != "cross_entropy":
        return None
    logits, labels = argument(node, 0, "input", None), argument(node, 1, "target", None)
    like, classes = _fits(logits), example(labels)
    names = ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing")
    weight, size_average, ignore, reduce, reduction, smoothing = (
        argument(node, at, name, default)
        for at, (name, default) in enumerate(zip(names, (None, None, -100, None, "mean", 0.0), strict=True), start=2)
    )
    if like is None or classes is None or classes.dtype != torch.int64 or like.shape[:-1] != classes.shape:
        return None
    if (
        like.dim() != 2
        or any(x is not None for x in (weight, size_average, reduce))
        or smoothing
        or not isinstance(ignore, int)
    ):
        return None
    dtype = like.dtype

    def back(graph: fx.Graph, losses: fx.Node) -> fx.Node:
        if reduction != "none":
            losses = graph.call_method("sum", (losses,))
        if reduction == "mean":
            counted = graph.call_method("sum", (graph.call_function(operator.ne, (labels, ignore)),))
            losses = graph.call_function(operator.truediv, (losses, counted))
        return losses if dtype is torch.float32 else graph.call_method("to", (losses, dtype))

    return _Replacement("cross_entropy", (logits, labels, ignore), "cross-entropy", back)


def rotated(x: Tensor, cos: Tensor, sin: Tensor, *, heads_second: bool) -> Tensor:
    """RoPE of `[B, H, S, D]` (`heads_second`) or `[B, S, H, D]`, with tables whose two halves are equal."""
    size = x.shape[-1]
    tables = [table.reshape(-1, size)[:, : size // 2].contiguous() for table in (cos, sin)]
    y: Tensor = registry.run_whole("rope", x.transpose(1, 2) if heads_second else x, *tables, "half")
    if not heads_second:
        return y
    # As the formula, which keeps the layout in memory.
    return y.transpose(1, 2).contiguous() if x.is_contiguous() else y.transpose(1, 2)


def _rope(node: fx.Node, constants: Constants) -> _Replacement | None:
    """`x * cos + cat(-second half of x, first half of x) * sin`."""
    if _name(node) != "add" or len(node.args) != 2 or node.kwargs:
        return None
    for first, second in (node.args, node.args[::-1]):
        turned = _turned(second)
        if turned is None:
            continue
        x, sin = turned
        cos, like, result = _other_factor(first, x), _fits(x), example(node)
        if cos is None or like is None or result is None or like.dim() != 4 or result.dtype is not like.dtype:
            continue
        kinds = {_kind_of_table(constants.value(table), like) for table in (cos, sin)}
        if kinds in ({True}, {False}):
            return _Replacement("rope", (x, cos, sin), "RoPE", heads_second=kinds.pop())
    return None


def _turned(node: Any) -> tuple[fx.Node, fx.Node] | None:
    """`x` and `sin` of `cat(-second half of x, first half of x) * sin`."""
    if _name(node) != "mul" or len(node.args) != 2:
        return None
    for joined, sin in (node.args, node.args[::-1]):
        if not isinstance(joined, fx.Node) or not isinstance(sin, fx.Node) or _name(joined) not in ("cat", "concat"):
            continue
        parts, dim = argument(joined, 0, "tensors", ()), argument(joined, 1, "dim", 0)
        if not isinstance(parts, (tuple, list)) or len(parts) != 2 or _name(parts[0]) != "neg":
            continue
        second, first = _half(parts[0].args[0]), _half(parts[1])
        if second is not None and first is not None and second[0] is first[0] and (second[1], first[1]) == (1, 0):
            like = example(joined)
            if like is not None and dim in (-1, like.dim() - 1):
                return second[0], sin
    return None


def _half(node: Any) -> tuple[fx.Node, int] | None:
    """The tensor of which a node is a half of the last dimension, and which half."""
    if _name(node) != "getitem":
        return None
    source, at = node.args
    if _name(source) in ("chunk", "split"):
        x, parts, dim = source.args[0], argument(source, 1, "chunks", None), argument(source, 2, "dim", 0)
        like = example(x)
        if like is None or dim not in (-1, like.dim() - 1) or at not in (0, 1):
            return None
        return (x, at) if parts == (2 if _name(source) == "chunk" else like.shape[-1] // 2) else None
    like = example(source)
    if like is None or like.shape[-1] % 2:
        return None
    middle = like.shape[-1] // 2
    for place, part in enumerate((slice(None, middle), slice(middle, None))):
        if at == (Ellipsis, part):
            return source, place
    return None


def _other_factor(node: Any, x: fx.Node) -> fx.Node | None:
    if _name(node) != "mul" or len(node.args) != 2:
        return None
    for first, second in (node.args, node.args[::-1]):
        if first is x and isinstance(second, fx.Node):
            return second
    return None


def _kind_of_table(table: Any, x: Tensor) -> bool | None:
    """Whether a table is for `[B, H, S, D]` (true) or `[B, S, H, D]`; None for another tensor."""
    if not isinstance(table, Tensor) or table.dim() > 4 or table.dtype is not x.dtype:
        return None
    batch, second, third, size = (1,) * (4 - table.dim()) + tuple(table.shape)
    if batch != 1 or size != x.shape[-1] or not torch.equal(table[..., : size // 2], table[..., size // 2 :]):
        return None
    if second == 1 and third == x.shape[2]:
        return True
    return False if third == 1 and second == x.shape[1] else None


_MATCHES = (_softmax, _layernorm, _rmsnorm, _gated, _cross_entropy, _rope)
