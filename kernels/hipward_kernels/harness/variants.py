"""The variants of the ladder: what they are called, and how each is made from the author's `Model`.

Each variant is based on the requested ones below it that can run: with `eager, compile, fused-ops`, the last is
`torch.compile` of the model with fused ops; with `eager, fused-ops` it is the fused ops alone. So every variant can be
switched off, and seen alone. Which variants run is decided in this order: a step that the environment switches off (its
switch is 0) is not available; then the job's choice; a 1 in the environment adds nothing. `TORCH_COMPILE_MODE` is the
mode of every variant that is compiled.

The steps themselves are the ladder's (`hipward_kernels/ladder.py`), and so is the one place to add another: its variant
is made here, announced to the runner by `lines.variants`, and named and ordered by that everywhere else. Every
variant but `eager` has its own copy of the same weights.
"""

from __future__ import annotations

import copy
import logging
import os
from dataclasses import dataclass
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
"""Every variant, in ladder order."""

VARIANTS: tuple[VariantId, ...] = tuple(variant.id for variant in VARIANT_INFO)
LABELS: dict[VariantId, str] = {variant.id: variant.label for variant in VARIANT_INFO}
STEPS: dict[VariantId, Step] = {step.name: step for step in ladder.STEPS}


class UnavailableError(Exception):
    """A variant cannot run here; the message says why."""


@dataclass(frozen=True)
class Origin:
    """What variants are made from."""

    snippet: Snippet
    model: nn.Module
    inputs: Sequence[Any]
    """Arguments of one call, to see what `Model` passes to its modules."""

    def copy(self) -> nn.Module:
        """The author's `Model` again, with equal weights of its own."""
        if not _holds_closures(self.model):
            try:
                return copy.deepcopy(self.model)
            except Exception:  # Some attributes cannot be copied; the constructor can be called again.
                log.info("Model cannot be copied; it is built again", exc_info=True)
        model = self.snippet.build("Model")
        model.load_state_dict(self.model.state_dict())
        return model


def _holds_closures(model: nn.Module) -> bool:
    """Whether a module keeps a function made in place, as `self.mlp = lambda x: …` does.

    In a copy, that would still call the modules of the original.
    """
    kept = (value for module in model.modules() for value in vars(module).values())
    return any(isinstance(value, FunctionType) and value.__closure__ for value in kept)


@dataclass(frozen=True)
class BuiltVariant:
    """A way to run the model."""

    call: Callable[..., Any]
    based_on: tuple[VariantId, ...] = ()
    """Lower variants that are part of it, in ladder order."""
    includes: tuple[str, ...] = ()
    """What each step that is part of it did, in words."""
    results_last: bool = True
    """False where each call may write over the last result: graph replays do, by design."""


def parse_variants(names: Sequence[Any]) -> list[VariantId]:
    """The named variants in ladder order, each once; always with `eager`."""
    if unknown := [name for name in names if name not in VARIANTS]:
        raise ValueError(f"unknown variants: {unknown}; known are {', '.join(VARIANTS)}")
    return [variant for variant in VARIANTS if variant == EAGER or variant in names]


def build(
    variant: VariantId, origin: Origin, available: Collection[VariantId], costly: Collection[VariantId] = ()
) -> BuiltVariant:
    """Makes a variant.

    Args:
        variant: Which.
        origin: From what.
        available: Lower variants that the job asks for and that can run here.
        costly: Those whose step was measured to cost time; this variant does without.

    Raises:
        UnavailableError: It cannot run here, or there is nothing for it to do.
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
        return _climb(origin, (), mode)
    if variant == EVERYTHING:
        return _everything(origin, below, costly, mode)
    step = STEPS[variant]
    if reason := _refusal(step, origin):
        raise UnavailableError(f"{reason}.")
    held = [other for other in ladder.STEPS[: ladder.STEPS.index(step)] if other.name in below]
    return _climb(origin, (*held, step), mode if COMPILED in below else None, must=step)


def _climb(origin: Origin, steps: tuple[Step, ...], mode: str | None, must: Step | None = None) -> BuiltVariant:
    """A variant that takes these steps, of which `must` has to change something."""
    try:
        done = optimize(origin.copy(), cloned(list(origin.inputs)), Switches(steps, mode))
    except DisagreesError as error:
        raise UnavailableError(f"It cannot be applied to Model: {error}.") from error
    if must is not None and (reason := done.reason(must)):
        raise UnavailableError(reason)
    lower = [] if mode is None or not steps else [COMPILED]
    lower += [step.name for step in steps if step is not must and done.found[step.name].changed]
    return BuiltVariant(done.call, tuple(lower), tuple(done.includes()), mode not in GRAPH_MODES)


def _everything(origin: Origin, below: Collection[VariantId], costly: Collection[VariantId], mode: str) -> BuiltVariant:
    steps = tuple(step for step in ladder.STEPS if step.name not in costly and not _refusal(step, origin))
    variant = _climb(origin, steps, mode)
    lower = [COMPILED, *(name for name in variant.based_on if name != COMPILED)]
    if all(name in below for name in lower):
        pays = " and that pays" if costly else ""
        raise UnavailableError(f"{LABELS[lower[-1]]} holds everything that Model and this host allow{pays}.")
    return variant


def forget_compilations() -> None:
    """Makes earlier compilations of this process count for nothing; call it once, before the first variant."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way
    # The variants are copies of one model and share its code, for which PyTorch counts compilations: past the limit it
    # would run eagerly without a warning.
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
    """Why a step cannot run for tensors like Model's, or None."""
    if os.environ.get(step.switch) == "0":
        return f"{step.switch} is 0"
    floating = [
        x
        for x in (*tensors(list(origin.inputs)), *origin.model.parameters())
        if isinstance(x, Tensor) and x.is_floating_point()
    ]
    return step.refusal(floating[0]) if floating else "Model has no floating-point tensors"
