"""Optimization steps for a model. Each step has a switch that is off by default, and adds to the steps before it.

    USE_AITER_ATTENTION=1 USE_OPTIMIZED_OPS=1 TORCH_COMPILE_MODE=default python serve.py

    model = optimize(model, [example_input]).call

Environment variables, with the names that porting guides use, in the order of the steps:

* `TORCH_COMPILE_MODE=default`: `torch.compile` in this mode, together with all other steps.
* `USE_AITER_ATTENTION=1`: attention through the router: aiter if it is installed, else PyTorch's fused kernels.
* `USE_OPTIMIZED_OPS=1`: fused Triton or HIP ops in place of the modules that they match.
* `USE_FUSED_PROJECTIONS=1`: projections that read the same tensor as one matrix product.
* `USE_AITER_GEMM=1`: linear layers through the route that was measured fastest for their weight.

`FORCE_EAGER_ATTENTION`, `GEMM_M_THRESHOLD`, `PRESHUFFLE_M_THRESH` and `HIPWARD_DISABLE` are read by the routers. The
harness measures the same steps as variants (`harness/variants.py`); there the job selects them, and a 0 in the
environment disables them. To add a step, add an entry to `STEPS`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hipward_kernels.dispatch import switches
from hipward_kernels.linear import host_refusal
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.rewrite import rewrite
from hipward_kernels.rewrite.attention import route_attention
from hipward_kernels.rewrite.candidates import fused_ops
from hipward_kernels.rewrite.capture import Found, captured, look
from hipward_kernels.rewrite.functions import use_large_ops, use_ops
from hipward_kernels.rewrite.gemm import route_linears
from hipward_kernels.rewrite.siblings import join, share_products

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import TypeAlias

    from torch import Tensor, nn

    from hipward_kernels.rewrite.capture import Pass

    Change: TypeAlias = Callable[[nn.Module, Sequence[Any]], tuple[nn.Module, list[str], Callable[[], None]]]

COMPILE = "TORCH_COMPILE_MODE"

NAMED = 4
"""Number of modules that a summary names."""


@dataclass(frozen=True)
class Step:
    """An optimization: a replacement of modules, a graph pass, or both."""

    name: str
    """Name of its variant."""
    switch: str
    """The environment variable that enables or disables it."""
    label: str
    about: str
    """Description, shown where variants are selected."""
    nothing: str
    """The reason for no change, if there is no more specific one."""
    modules: Change | None = None
    graph: Pass | None = None
    compiled_graph: Pass | None = None
    """The graph pass together with `torch.compile`, if it is another one."""
    apart: bool = False
    """Whether replaced modules and the graph pass do not need each other."""
    refusal: Callable[[Tensor], str | None] = lambda _: None
    """Why it cannot run for a model with tensors like this one, or None."""
    operators: tuple[str, ...] = ("",)
    """It changes nothing in a model that runs no operator with one of these in its name."""

    def may_change(self, ran: Collection[str]) -> bool:
        """Whether it may change a model that runs these operators of ATen."""
        return any(part in name for part in self.operators for name in ran)

    def pass_for(self, mode: str | None) -> Pass | None:
        """The graph pass with a mode of `torch.compile`, or without a compiler."""
        return self.graph if mode is None or self.compiled_graph is None else self.compiled_graph

    def reason(self, found: Found) -> str | None:
        """Why it changed nothing, as a sentence; None if it changed something."""
        if found.changed:
            return None
        return f"Nothing for it to do in Model: {_summary(found.left, '; ')}." if found.left else self.nothing


def _nothing_to_undo() -> None:
    pass


def _ops(model: nn.Module, inputs: Sequence[Any]) -> tuple[nn.Module, list[str], Callable[[], None]]:
    return *rewrite(model, inputs, fused_ops), _nothing_to_undo


def _projections(model: nn.Module, inputs: Sequence[Any]) -> tuple[nn.Module, list[str], Callable[[], None]]:
    return model, *join(model, inputs)


def _eager_attention(_: Tensor) -> str | None:
    return "FORCE_EAGER_ATTENTION is 1" if switches.on("FORCE_EAGER_ATTENTION") else None


ATTENTION = Step(
    "attention-routing",
    "USE_AITER_ATTENTION",
    "Attention routing",
    "Attention through aiter or PyTorch's fused kernels",
    "No attention written out as softmax(q·kᵀ)·v was found in Model.",
    graph=route_attention,
    refusal=_eager_attention,
    operators=("softmax", "attention", "transformer_encoder"),
)
OPS = Step(
    "fused-ops",
    "USE_OPTIMIZED_OPS",
    "Fused ops",
    "RMSNorm, LayerNorm, softmax, SiLU×mul, GELU×mul, RoPE, cross-entropy as one Triton or HIP kernel each",
    "No module or function that a fused op computes was found in Model.",
    modules=_ops,
    graph=use_ops,
    compiled_graph=use_large_ops,
    apart=True,
    refusal=lambda x: SILU_MUL.refusals(x)["triton"],
)
PROJECTIONS = Step(
    "fused-projections",
    "USE_FUSED_PROJECTIONS",
    "Fused projections",
    "Linear layers that read the same tensor (query, key and value; gate and up) as one matrix product",
    "No linear layers that read the same tensor were found in Model.",
    modules=_projections,
    graph=share_products,
)
GEMM = Step(
    "gemm-routing",
    "USE_AITER_GEMM",
    "GEMM routing",
    "Matrix products by the library that was measured fastest for each weight",
    "Model has no linear layer.",
    graph=route_linears,
    refusal=host_refusal,
)

STEPS: tuple[Step, ...] = (ATTENTION, OPS, PROJECTIONS, GEMM)
"""Every step, in order, after `torch.compile`."""


@dataclass(frozen=True)
class Optimized:
    """A model with the enabled steps."""

    call: Callable[..., Any]
    model: nn.Module
    """The module with the parameters, also if `call` is captured or compiled."""
    found: dict[str, Found] = field(default_factory=dict)
    """By name of the step, in order: the changes, and the reasons for what was not changed."""

    def includes(self) -> list[str]:
        """A line for each step that changed something: `Fused ops: norm, mlp`."""
        labels = {step.name: step.label for step in STEPS}
        return [f"{labels[name]}: {_summary(found.changed)}" for name, found in self.found.items() if found.changed]

    def reason(self, step: Step) -> str | None:
        """Why a step changed nothing, as a sentence; None if it changed something."""
        return step.reason(self.found[step.name])


def _summary(words: Sequence[str], between: str = ", ") -> str:
    shown = between.join(word or "the whole model" for word in words[:NAMED])
    return shown if len(words) <= NAMED else f"{shown} and {len(words) - NAMED} more"


@dataclass(frozen=True)
class Switches:
    """The enabled steps."""

    steps: tuple[Step, ...] = ()
    compile_mode: str | None = None

    @staticmethod
    def of(environment: Mapping[str, str]) -> Switches:
        """Reads the switches of an environment.

        Raises:
            ValueError: The value of a step's variable is neither 0 nor 1.
        """

        def on(name: str) -> bool:
            value = environment.get(name, "0") or "0"
            if value not in ("0", "1"):
                raise ValueError(f"{name} is {value!r}; it must be 0 or 1")
            return value == "1"

        return Switches(tuple(step for step in STEPS if on(step.switch)), environment.get(COMPILE) or None)


def optimize(
    model: nn.Module,
    inputs: Sequence[Any],
    switches: Switches | None = None,
    later: dict[str, Found] | None = None,
) -> Optimized:
    """Applies the enabled steps. `found` has the reasons for what a step could not change.

    Args:
        model: Changed in place. The keys of its state dict stay the same.
        inputs: Arguments of one call; several calls are made to observe the model.
        switches: The enabled steps (default: those of the environment).
        later: Receives what later steps would find in the model as it is, by their names, if that takes no capture of
            its own: for steps that replace no modules, after steps that replace none.

    Raises:
        DisagreesError: The steps together change the results.
    """
    chosen = Switches.of(os.environ) if switches is None else switches
    found = {step.name: Found() for step in chosen.steps}
    undo: dict[str, Callable[[], None]] = {}
    passes: dict[str, Pass] = {}
    for step in chosen.steps:
        if step.modules is not None:
            model, found[step.name].changed, undo[step.name] = step.modules(model, inputs)
        graph = step.pass_for(chosen.compile_mode)
        if graph is not None and (step.modules is None or step.apart or found[step.name].changed):
            passes[step.name] = graph
    if passes:
        alone = _graph_passes_after(chosen.steps) if later is not None else {}
        seen, seen_alone = look(model, inputs, list(passes.values()), list(alone.values()))
        if later is not None:
            later.update(zip(alone, seen_alone, strict=True))
        for step, each in zip([step for step in chosen.steps if step.name in passes], seen, strict=True):
            if not each.changed:
                passes.pop(step.name)
                if not step.apart:
                    undo.get(step.name, _nothing_to_undo)()
            found[step.name] = _together(step, found[step.name], each)
    if not passes and chosen.compile_mode is None:
        return Optimized(model, model, found)
    call = captured(model, list(passes.values()), chosen.compile_mode, whole=OPS.name in passes)
    return Optimized(call, model, found)


def _graph_passes_after(steps: Sequence[Step]) -> dict[str, Pass]:
    """The passes of later steps that replace no modules; none if one of `steps` does."""
    if any(step.modules is not None for step in steps):
        return {}
    after = STEPS[max(map(STEPS.index, steps)) + 1 :]
    return {step.name: step.graph for step in after if step.modules is None and step.graph is not None}


def _together(step: Step, modules: Found, graph: Found) -> Found:
    """What a step changed, from its replaced modules and its graph pass."""
    if step.apart:
        modules.add(graph)
        return modules
    return Found(modules.changed, graph.left) if step.modules is not None and graph.changed else graph
