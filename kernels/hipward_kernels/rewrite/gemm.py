"""Graph pass that runs linear layers by the route that was measured fastest for their weight, if not PyTorch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipward_kernels.linear import choose, preshuffle, refusal
from hipward_kernels.linear.routed import ROUTED
from hipward_kernels.rewrite.capture import Found, argument, example, module_of, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, fx


def _reason(x: Tensor, weight: Tensor, bias: Tensor | None) -> str:
    """Why PyTorch's own route is used."""
    reasons = [refusal("aiter", x, weight, bias, use_aiter=True) or "aiter is not faster"]
    limit = preshuffle.rows_wanted()
    if limit is not None:
        rows = x.numel() // max(x.shape[-1], 1)
        few = f"{rows} rows are fewer than PRESHUFFLE_M_THRESH, {limit}" if rows < limit else None
        shuffled = few or refusal("preshuffled", x, weight, bias, use_aiter=True)
        reasons += [shuffled] if shuffled and shuffled not in reasons else []
    return f"{', '.join(reasons)}, and no sweep has shown another route to be faster for its weights"


def route_linears(graph: fx.GraphModule, inputs: Sequence[Any]) -> Found:  # noqa: ARG001 - a pass
    """The pass; see `capture.py`."""
    found = Found()
    for node in graph.graph.nodes:
        if name_of(node) != "linear":
            continue
        x, weight, bias = (
            argument(node, 0, "input", None),
            argument(node, 1, "weight", None),
            argument(node, 2, "bias", None),
        )
        like, rows, offset = example(x), example(weight), example(bias)
        if like is None or rows is None or rows.dim() != 2 or not all(isinstance(size, int) for size in like.shape):
            continue
        route = choose(like, rows, offset, use_aiter=True)
        what = f"{str(rows.dtype).removeprefix('torch.')} {list(rows.shape)}"
        if route == "plain":
            found.add(Found(left=[_reason(like, rows, offset)]))
            continue
        node.target, node.args, node.kwargs = ROUTED, (x, weight, bias, route), {}
        found.changed.append(f"{route} for {what} of {module_of(node) or 'the model'}")
    return found
