"""A model's inference as a CUDA or HIP graph, in a program or by `python -m hipward_kernels.models.graphed FILE`.

    graphed = GraphedModel(model.eval())
    with torch.no_grad():
        out = graphed(x)

A graph launches all kernels of a call at once, which helps a model that waits for the host. It replays the same kernels
on the same addresses, so it is used only while that is the same computation:

* Each form of the arguments (shapes, dtypes, devices, strides, and the values of what is not a tensor) has its own
  graph. The contents of the tensors are copied into the graph's own ones before each replay.
* A new graph must give the results of the plain model for the arguments and for the same values in another order.
  Otherwise, or if the model cannot be captured, the model is called as before, and `refused` has the reason.
* If a parameter or buffer has another address than at the capture, or the model changed between training and
  evaluation, its graphs are captured again.
* Calls that record gradients are not captured.

A call that reads a tensor's value in Python (`if x.sum() > 0`) cannot be captured if it reads it from the GPU. A value
that Python reads elsewhere, such as a counter or a tensor on the CPU, is a constant of the graph, and no check sees a
later change: do not graph such a model.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from hipward_kernels.measure import subject
from hipward_kernels.measure.benchmark_inference import inference
from hipward_kernels.models.graphs import MOST_NOISE, SLACK, GraphRefusedError, capture
from hipward_kernels.numerics.limit import LONGEST_ROW, rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from torch import nn

log = logging.getLogger(__name__)

MOST_GRAPHS = 8
"""Forms of arguments with a graph: each has its own memory."""


class _Graph:
    """A captured call for one form of arguments."""

    def __init__(self, call: Callable[..., Any], arguments: Any) -> None:
        """Captures `call` and checks it.

        Raises:
            GraphRefusedError: See `capture`; or the graph has other results than the call.
        """
        leaves, self._layout = pytree.tree_flatten(arguments)
        self._inputs = [leaf.clone(memory_format=torch.preserve_format) if _tensor(leaf) else leaf for leaf in leaves]
        self._results: list[Any] = []

        def work() -> Tensor:
            args, kwargs = pytree.tree_unflatten(self._inputs, self._layout)
            self._results, self._result_layout = pytree.tree_flatten(call(*args, **kwargs))
            first: Tensor | None = next((result for result in self._results if _tensor(result)), None)
            if first is None:
                raise GraphRefusedError("the model returns no tensor")
            return first

        self._replay, _ = capture(work)
        for values in (leaves, [_reordered(leaf) if _tensor(leaf) else leaf for leaf in leaves]):
            self._check(call, values)

    def __call__(self, leaves: list[Any]) -> Any:
        for mine, given in zip(self._inputs, leaves, strict=True):
            if _tensor(mine):
                mine.copy_(given)
        self._replay()
        copies = [result.clone() if _tensor(result) else result for result in self._results]
        return pytree.tree_unflatten(copies, self._result_layout)

    def _check(self, call: Callable[..., Any], leaves: list[Any]) -> None:
        def plain() -> list[Any]:
            args, kwargs = pytree.tree_unflatten(
                [leaf.clone(memory_format=torch.preserve_format) if _tensor(leaf) else leaf for leaf in leaves],
                self._layout,
            )
            return pytree.tree_leaves(call(*args, **kwargs))

        expected, again, got = plain(), plain(), pytree.tree_leaves(self(leaves))
        if len(got) != len(expected):
            raise GraphRefusedError("the model returns another structure for other values")
        for number, (mine, theirs, other) in enumerate(zip(got, expected, again, strict=True)):
            if not _tensor(theirs):
                if mine != theirs:
                    raise GraphRefusedError(f"result {number} is {theirs!r}, and {mine!r} with the graph")
                continue
            noise = _difference(other, theirs)
            if not noise <= MOST_NOISE:
                raise GraphRefusedError(f"two plain calls differ by {noise:.2g} in result {number}: it is random")
            difference = _difference(mine, theirs)
            allowed = max(SLACK * noise, rounding(theirs.dtype, LONGEST_ROW))
            if not difference <= allowed:
                raise GraphRefusedError(
                    f"result {number} of the graph is off by {difference:.2g} of its size, {allowed:.2g} is allowed"
                )


class GraphedModel:
    """Calls a model through graphs, for inference."""

    def __init__(self, model: nn.Module, *, most_graphs: int = MOST_GRAPHS) -> None:
        """`most_graphs` is the number of forms of arguments that get a graph; others use the plain model."""
        self.model = model
        self.refused: dict[Hashable, str] = {}
        """The reason for each form of arguments that is not captured."""
        self._most_graphs = most_graphs
        self._graphs: dict[Hashable, _Graph] = {}
        self._state = self._place()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The model's results, which later calls do not overwrite."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        trained = any(_tensor(leaf) and leaf.requires_grad for leaf in leaves)
        if torch.is_grad_enabled() and (trained or any(p.requires_grad for p in self.model.parameters())):
            return self.model(*args, **kwargs)
        place = self._place()
        if place != self._state:
            self._graphs.clear()
            self.refused.clear()
            self._state = place
        form = (layout, *map(_form, leaves))
        try:
            found = self._graphs.get(form)
            reason = self.refused.get(form)
        except TypeError:
            # An argument that cannot be compared by value.
            return self.model(*args, **kwargs)
        if reason is not None:
            return self.model(*args, **kwargs)
        if found is None:
            found = self._captured(form, args, kwargs)
        return self.model(*args, **kwargs) if found is None else found(leaves)

    def _captured(self, form: Hashable, args: Any, kwargs: Any) -> _Graph | None:
        reason = f"{self._most_graphs} other forms of arguments have a graph"
        if len(self._graphs) < self._most_graphs:
            try:
                with torch.no_grad():
                    self._graphs[form] = _Graph(self.model, (args, kwargs))
                return self._graphs[form]
            except GraphRefusedError as error:
                reason = str(error)
        self.refused[form] = reason
        log.warning("the model runs without a graph for these arguments: %s", reason)
        return None

    def _place(self) -> tuple[Any, ...]:
        tensors = (*self.model.parameters(), *self.model.buffers())
        return self.model.training, tuple([tensor.data_ptr() for tensor in tensors])


def _tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _form(leaf: Any) -> Hashable:
    if isinstance(leaf, Tensor):
        return leaf.shape, leaf.stride(), leaf.dtype, leaf.device
    form: Hashable = (type(leaf), leaf)
    return form


def _reordered(x: Tensor) -> Tensor:
    """The values of `x` in another order: as valid as those of `x`, also for indices and masks."""
    return x.flatten().roll(1).view(x.shape) if x.numel() > 1 else x


def _difference(got: Tensor, expected: Tensor) -> float:
    """Largest difference relative to the largest value; infinite for another form, NaN or infinity elsewhere."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return float("inf")
    if not expected.numel():
        return 0.0
    wide, other = expected.double(), got.double()
    same = (wide == other) | (wide.isnan() & other.isnan())
    size = float(wide.masked_fill(~wide.isfinite(), 0.0).abs().max()) or 1.0
    return float((wide - other).masked_fill(same, 0.0).abs().nan_to_num(float("inf")).max()) / size


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.models.graphed", description=__doc__)
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    model, inputs = snippet.build("Model"), snippet.inputs(0)
    graphed = GraphedModel(model)
    with torch.no_grad():
        graphed(*inputs)
    for reason in graphed.refused.values():
        parser.exit(1, f"not captured: {reason}\n")
    plain, graph = (inference(call, inputs, snippet.device) for call in (model, graphed))
    print("| | ms (median) | 95th percentile |\n| --- | ---: | ---: |")
    print(f"| plain | {plain.p50_ms:.4f} | {plain.p95_ms:.4f} |")
    print(f"| graph | {graph.p50_ms:.4f} | {graph.p95_ms:.4f} |")


if __name__ == "__main__":
    main()
