"""The variants of a job: their names, and how each is built from the author's `Model`.

A variant is based on the requested variants before it that can run. With `eager, compile, fused-ops`, the last is
`torch.compile` of the model with fused ops; with `eager, fused-ops` it is the fused ops alone. So each variant can be
left out or measured alone. A step whose environment variable is 0 is not available; otherwise the job decides, and a 1
in the environment has no effect. `TORCH_COMPILE_MODE` is the mode of every compiled variant.

Optimization steps are defined in `rewrite/steps.py`, which is also the only place to add one: its variant is built
here, announced to the runner by `lines.variants`, and shown under that name and in that order everywhere else. Every
variant except `eager` has its own copy of the same weights.
"""

from __future__ import annotations

import copy
import logging
import os
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.harness.lines import VariantInfo
from hipward_kernels.numerics.nested import cloned, tensors
from hipward_kernels.rewrite import steps as ladder
from hipward_kernels.rewrite.capture import DisagreesError
from hipward_kernels.rewrite.steps import COMPILE, Step, Switches, optimize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import VariantId
    from hipward_kernels.rewrite.capture import Found


log = logging.getLogger(__name__)

GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Modes of `torch.compile` that replay CUDA or HIP graphs into the same memory."""

EAGER, CONTROL, COMPILED, EVERYTHING, MODEL_NEW = "eager", "eager-control", "compile", "everything", "model-new"

VARIANT_INFO: tuple[VariantInfo, ...] = (
    VariantInfo(EAGER, "Eager", "Model as it was written: the baseline"),
    VariantInfo(CONTROL, "Eager again (control)", "Model timed a second time: how much eager differs from itself"),
    VariantInfo(COMPILED, "torch.compile", "Model compiled by PyTorch"),
    *(VariantInfo(step.name, step.label, step.about) for step in ladder.STEPS),
    VariantInfo(EVERYTHING, "Everything", "torch.compile and every step that Model and this host allow and that pays"),
    VariantInfo(MODEL_NEW, "ModelNew", "The author's own version"),
)
"""Every variant, in order of measurement."""

VARIANTS: tuple[VariantId, ...] = tuple(variant.id for variant in VARIANT_INFO)
LABELS: dict[VariantId, str] = {variant.id: variant.label for variant in VARIANT_INFO}
STEPS: dict[VariantId, Step] = {step.name: step for step in ladder.STEPS}


class UnavailableError(Exception):
    """A variant cannot run here. The message states the reason."""


class NothingToDoError(UnavailableError):
    """A step would not change the model."""


@dataclass(frozen=True)
class Origin:
    """The model that variants are built from."""

    snippet: Snippet
    model: nn.Module
    inputs: Sequence[Any]
    """Arguments of one call, to observe what `Model` passes to its modules."""
    operators: frozenset[str] | None = None
    """Names of the operators that the call runs; None if they are not known."""
    found: dict[str, Found] = field(default_factory=dict)
    """What steps find in the model as it is, by their names, as far as the capture for an earlier step has shown it."""

    def copy(self) -> nn.Module:
        """A copy of the author's `Model`, in the same state.

        Its parameters share the memory of the original's, because large models fit only once. Its buffers do not, since
        a call may change them.
        """
        if not _holds_closures(self.model):
            try:
                return copy.deepcopy(self.model, _shared_parameters(self.model))
            except Exception:  # Some attributes cannot be copied; the constructor can be called again.
                log.info("Model cannot be copied; it is built again", exc_info=True)
        model = self.snippet.build("Model")
        model.load_state_dict(self.model.state_dict())
        return model


def _shared_parameters(model: nn.Module) -> dict[int, nn.Parameter]:
    """For `copy.deepcopy`: parameters of the copy that share the memory of the original's, by the id of the original.

    They are other objects, so that a step that replaces the contents of a parameter does not change the original.
    """
    plain = [parameter for parameter in model.parameters() if type(parameter) is nn.Parameter]
    return {id(parameter): nn.Parameter(parameter.detach(), parameter.requires_grad) for parameter in plain}


def _holds_closures(model: nn.Module) -> bool:
    """Whether a module has a closure as an attribute, as in `self.mlp = lambda x: …`.

    The closure of a copy would still call the modules of the original.
    """
    attributes = (value for module in model.modules() for value in vars(module).values())
    return any(isinstance(value, FunctionType) and value.__closure__ for value in attributes)


@dataclass(frozen=True)
class BuiltVariant:
    """A callable variant of the model."""

    call: Callable[..., Any]
    based_on: tuple[VariantId, ...] = ()
    """Earlier variants that are part of it, in order."""
    includes: tuple[str, ...] = ()
    """One line for each step that is part of it, with the modules that it changed."""
    results_last: bool = True
    """False if a call may overwrite the result of the previous one, as graph replays do by design."""


def parse_variants(names: Sequence[Any]) -> list[VariantId]:
    """The named variants in order of measurement, without duplicates and always with `eager`."""
    if unknown := [name for name in names if name not in VARIANTS]:
        raise ValueError(f"unknown variants: {unknown}; known are {', '.join(VARIANTS)}")
    return [variant for variant in VARIANTS if variant == EAGER or variant in names]


def build(
    variant: VariantId,
    origin: Origin,
    available: Collection[VariantId],
    costly: Collection[VariantId] = (),
    idle: Collection[VariantId] = (),
) -> BuiltVariant:
    """Builds a variant.

    Args:
        variant: Its name.
        origin: The model to build it from.
        available: Earlier variants that the job requests and that can run here.
        costly: Those whose step was measured to cost time; the variant is built without these steps.
        idle: Steps that are known to change nothing in this model, and torch.compile if it was tried and is out.

    Raises:
        UnavailableError: The variant cannot run here, or would change nothing.
    """
    if variant == EAGER:
        return BuiltVariant(origin.model)
    if variant == CONTROL:
        return BuiltVariant(origin.copy())
    if variant == MODEL_NEW:
        return BuiltVariant(_model_new(origin))
    below = [name for name in available if name not in costly]
    mode = os.environ.get(COMPILE) or "default"
    if variant == COMPILED:
        return _apply_steps(origin, (), mode)
    if variant == EVERYTHING:
        return _everything(origin, below, costly, idle, mode)
    step = STEPS[variant]
    if reason := _refusal(step, origin):
        raise UnavailableError(f"{reason}.")
    if origin.operators is not None and not step.may_change(origin.operators):
        raise NothingToDoError(step.nothing)
    lower = [other for other in ladder.STEPS[: ladder.STEPS.index(step)] if other.name in below]
    if not lower and step.name in origin.found and (reason := step.reason(origin.found[step.name])):
        raise NothingToDoError(reason)
    return _apply_steps(origin, (*lower, step), mode if COMPILED in below else None, required=step)


def _apply_steps(
    origin: Origin, steps: tuple[Step, ...], mode: str | None, required: Step | None = None
) -> BuiltVariant:
    """Applies optimization steps to a copy of the model.

    Args:
        origin: The model.
        steps: The steps, in order.
        mode: Mode of `torch.compile`; None to not compile.
        required: A step that has to change something.

    Raises:
        UnavailableError: The steps change the model's results, or `required` changes nothing.
    """
    try:
        done = optimize(origin.copy(), cloned(list(origin.inputs)), Switches(steps, mode), origin.found)
    except DisagreesError as error:
        raise UnavailableError(f"It cannot be applied to Model: {error}.") from error
    if required is not None and (reason := done.reason(required)):
        raise NothingToDoError(reason)
    lower = [] if mode is None or not steps else [COMPILED]
    lower += [step.name for step in steps if step is not required and done.found[step.name].changed]
    return BuiltVariant(done.call, tuple(lower), tuple(done.includes()), mode not in GRAPH_MODES)


def _everything(
    origin: Origin, below: Collection[VariantId], costly: Collection[VariantId], idle: Collection[VariantId], mode: str
) -> BuiltVariant:
    out = {*costly, *idle}
    steps = tuple(step for step in ladder.STEPS if step.name not in out and not _refusal(step, origin))
    pays = " and that pays" if costly else ""

    def included(lower: Sequence[VariantId]) -> None:
        # Without a step it is torch.compile once more, which may have been rejected.
        if all(name in below for name in lower) or (COMPILED in idle and list(lower) == [COMPILED]):
            raise UnavailableError(f"{LABELS[lower[-1]]} includes everything that Model and this host allow{pays}.")

    # If each step was measured already, the model need not be captured once more.
    included([COMPILED, *(step.name for step in steps)])
    variant = _apply_steps(origin, steps, mode)
    included([COMPILED, *(name for name in variant.based_on if name != COMPILED)])
    return variant


def forget_compilations() -> None:
    """Resets the compilations of this process; call it once, before the first variant."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way
    # The variants are copies of one model and share its code, for which PyTorch counts compilations. Beyond the limit
    # it would run eagerly without a warning.
    torch._dynamo.config.recompile_limit = 64  # noqa: SLF001
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # noqa: SLF001


def _model_new(origin: Origin) -> nn.Module:
    if not origin.snippet.has_model_new:
        raise UnavailableError("The snippet has no ModelNew.")
    model = origin.snippet.build("ModelNew")
    mine, theirs = model.state_dict(), origin.model.state_dict()
    if {name: value.shape for name, value in mine.items()} == {name: value.shape for name, value in theirs.items()}:
        model.load_state_dict(theirs)
    return model


def _refusal(step: Step, origin: Origin) -> str | None:
    """Why a step cannot run for tensors like those of Model, or None."""
    if os.environ.get(step.switch) == "0":
        return f"{step.switch} is 0"
    floating = [
        x
        for x in (*tensors(list(origin.inputs)), *origin.model.parameters())
        if isinstance(x, Tensor) and x.is_floating_point()
    ]
    return step.refusal(floating[0]) if floating else "Model has no floating-point tensors"
