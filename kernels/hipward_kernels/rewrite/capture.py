"""Captures the code of a model as a graph, which passes rewrite.

TorchDynamo captures the graph; code that it does not support causes a graph break. Parameters, hooks and state dicts of
the model do not change; inputs with another shape are captured again. A pass (`attention.py`, `gemm.py`, `siblings.py`)
receives one graph and reports what it changed and what it did not change.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx

from hipward_kernels.dispatch import registry
from hipward_kernels.rewrite.verify import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from torch import nn

    Pass: TypeAlias = Callable[[fx.GraphModule, Sequence[Any]], "Found"]


torch.compiler.allow_in_graph(registry.run_whole)  # type: ignore[no-untyped-call]


class DisagreesError(Exception):
    """The rewritten model computes other results than the model."""


@dataclass
class Found:
    """Result of a pass."""

    changed: list[str] = field(default_factory=list)
    """Changes, each described in a few words with the name of the module."""
    left: list[str] = field(default_factory=list)
    """Reasons for what was not changed."""

    def add(self, other: Found) -> None:
        """Adds the result for another graph."""
        self.changed += other.changed
        self.left = list(dict.fromkeys([*self.left, *other.left]))


def captured(model: nn.Module, passes: Sequence[Pass], mode: str | None, *, whole: bool = False) -> Callable[..., Any]:
    """A callable that runs `model` with its graphs rewritten.

    Args:
        model: Not changed.
        passes: Applied to each graph, in order.
        mode: Mode of `torch.compile` for the rewritten graphs; None runs them without a compiler.
        whole: Whether compiled graphs, too, contain each op of this package as one call.
    """
    if not passes and mode is not None:
        compiled: Callable[..., Any] = torch.compile(model, mode=mode)
        return compiled

    def backend(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        for rewrite in passes:
            rewrite(graph, inputs)
        graph.graph.lint()
        graph.recompile()
        if mode is None:
            return graph
        inductor: Any = torch._dynamo.lookup_backend("inductor")  # noqa: SLF001 - documented
        done: Callable[..., Any] = inductor(graph, inputs, config_patches=_options(mode))
        return done

    # Passes depend on sizes. By default, Dynamo makes a size symbolic that differed between models with the same code.
    rewritten: Callable[..., Any] = torch.compile(model, backend=backend, dynamic=False)
    if mode is not None and not whole:
        return rewritten

    def run(*args: Any, **kwargs: Any) -> Any:
        with registry.whole():
            return rewritten(*args, **kwargs)

    return run


def _options(mode: str) -> dict[str, Any]:
    return {} if mode == "default" else torch._inductor.list_mode_options(mode)  # noqa: SLF001 - documented


@torch.no_grad()
def look(
    model: nn.Module, inputs: Sequence[Any], passes: Sequence[Pass], alone: Sequence[Pass] = ()
) -> tuple[list[Found], list[Found]]:
    """Rewrites the model for one call, runs it without a compiler and compares results.

    Args:
        model: Not changed.
        inputs: Arguments of the call.
        passes: Applied to each graph, in order.
        alone: Each is applied to a copy of the graph as it was captured, which is not run.

    Returns:
        What each pass did, and what each of `alone` would do.

    Raises:
        DisagreesError: The rewritten model computes other results.
    """
    found = [Found() for _ in passes]
    found_alone = [Found() for _ in alone]

    def noted(rewrite: Pass, into: Found) -> Pass:
        def run(graph: fx.GraphModule, given: Sequence[Any]) -> Found:
            into.add(rewrite(graph, given))
            return into

        return run

    def on_copy(rewrite: Pass) -> Pass:
        return lambda graph, given: rewrite(fx.GraphModule(graph, copy.deepcopy(graph.graph)), given)

    noted_passes = [noted(on_copy(p), into) for p, into in zip(alone, found_alone, strict=True)]
    noted_passes += [noted(p, into) for p, into in zip(passes, found, strict=True)]
    rewritten = captured(model, noted_passes, None)
    with torch.random.fork_rng(devices=_gpus(model)):
        torch.manual_seed(0)
        got = rewritten(*_copies(inputs))
        if any(each.changed for each in found):
            torch.manual_seed(0)
            _compare(model(*_copies(inputs)), got)
    return found, found_alone


def _compare(expected: Any, got: Any) -> None:
    """Raises `DisagreesError` unless two results have the same structure and, up to rounding, the same values."""
    leaves, layout = torch.utils._pytree.tree_flatten(expected)  # noqa: SLF001 - the tree of any Python result
    others, other_layout = torch.utils._pytree.tree_flatten(got)  # noqa: SLF001
    if layout != other_layout:
        raise DisagreesError("the rewritten model returns another structure")
    for first, second in zip(leaves, others, strict=True):
        if not isinstance(first, Tensor):
            continue
        if first.shape != second.shape or first.dtype != second.dtype:
            raise DisagreesError(f"the rewritten model returns {list(second.shape)} {second.dtype}")
        if not first.is_floating_point() or not first.numel():
            continue
        wide, other = first.double(), second.double()
        same = (wide == other) | (wide.isnan() & other.isnan())
        error = (wide - other).masked_fill(same, 0.0).abs().max()
        limit = 2 * TOLERANCE.get(first.dtype, 0.0) * wide.masked_fill(~wide.isfinite(), 0.0).abs().max()
        if not bool(error <= limit):
            raise DisagreesError(f"the rewritten model is off by {float(error):.3g}")


def _copies(values: Sequence[Any]) -> list[Any]:
    return [
        torch.utils._pytree.tree_map_only(Tensor, torch.clone, value)  # noqa: SLF001
        for value in values
    ]


def _gpus(model: nn.Module) -> list[int]:
    return sorted({p.get_device() for p in model.parameters() if p.is_cuda})


def name_of(node: fx.Node) -> str:
    """Normalized name of a node's function: `matmul` for `@`, for `torch.matmul` and for the tensor's method."""
    if node.op not in ("call_function", "call_method"):
        return ""
    return str(getattr(node.target, "__name__", node.target))


_ELEMENTWISE = frozenset(
    {"truediv", "true_divide", "dropout", "hardswish", "softsign", "float", "half", "bfloat16", "to"}
)
"""Element-wise functions without an operator of that name in ATen that has the tag."""


def is_elementwise(node: fx.Node) -> bool:
    """Whether a node computes each element from the elements at the same place."""
    name = name_of(node)
    packet = getattr(torch.ops.aten, name, None) if name else None
    return name in _ELEMENTWISE or (
        packet is not None
        and any(torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads())
    )


def example(node: Any) -> Tensor | None:
    """A fake tensor with the shape, dtype and device of a node's result; None for other results."""
    value = getattr(node, "meta", {}).get("example_value")
    return value if isinstance(value, Tensor) else None


def argument(node: fx.Node, position: int, name: str, default: Any) -> Any:
    """An argument of a call, by position or by keyword."""
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def overwritten(node: fx.Node) -> bool:
    """Whether another node overwrites the result of a node."""
    return any(
        (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE
        for user in node.users
        if (name := name_of(user)) and user.args and user.args[0] is node
    )


_IN_PLACE = frozenset({"iadd", "isub", "imul", "itruediv", "imatmul", "setitem"})


def is_buffer(node: fx.Node) -> bool:
    """Whether a placeholder is a buffer of the model."""
    name = getattr(getattr(node.meta.get("grapharg"), "source", None), "name", "")
    return "_buffers[" in str(name() if callable(name) else name)  # a method until PyTorch 2.14


def module_of(node: fx.Node) -> str:
    """The name of the module whose `forward` contains a node; "" for the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    if not stack:
        return ""
    path = str(next(reversed(stack.values()))[0])
    for root in ("L['self']", "L['fn']"):
        path = path.removeprefix(root)
    parts = re.findall(r"[^.\[\]']+", path)
    return ".".join(part for part in parts if part != "_modules")
