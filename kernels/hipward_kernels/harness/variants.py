"""The rungs of the ladder: how each is made from the author's `Model`.

Each rung stands on those below it that the job asks for: with `eager, compile, fused-ops`, the last is `torch.compile`
of the model with fused ops; with `eager, fused-ops` it is the fused ops alone. So every rung can be switched off, and
seen alone. Every rung but `eager` has its own copy of the same weights. To add a rung: one `Rung` here, one name in
`lines.py` and in the protocol.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.harness.outputs import cloned, tensors
from hipward_kernels.ops.silu_mul import OP as SILU_MUL
from hipward_kernels.projections import FusedGatedMLP
from hipward_kernels.rewrite import rewrite
from hipward_kernels.rewrite.candidates import fused_ops, fused_projections, gate_up_only

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import Variant

COMPILE_MODE = "TORCH_COMPILE_MODE"
"""Environment variable: the mode of `torch.compile` in every rung that has it; `default` unless set."""


class UnavailableError(Exception):
    """A rung cannot run here; the message says why."""


@dataclass(frozen=True)
class Origin:
    """What rungs are made from."""

    snippet: Snippet
    model: nn.Module
    inputs: Sequence[Any]
    """Arguments of one call, to see what `Model` passes to its modules."""

    def copy(self) -> nn.Module:
        """The author's `Model` again, with equal weights of its own."""
        try:
            return copy.deepcopy(self.model)
        except Exception:  # Some attributes cannot be copied; the constructor can be called again.
            model = self.snippet.build("Model")
            model.load_state_dict(self.model.state_dict())
            return model


@dataclass(frozen=True)
class Rung:
    """A way to run the model."""

    call: Callable[..., Any]
    stands_on: tuple[Variant, ...] = ()
    """Lower rungs that are part of it, in ladder order."""


def build(variant: Variant, origin: Origin, below: Collection[Variant]) -> Rung:
    """Makes a rung.

    Args:
        variant: Which.
        origin: From what.
        below: Lower rungs that the job asks for and that can run here.

    Raises:
        UnavailableError: It cannot run here, or there is nothing for it to do.
    """
    if variant == "eager":
        return Rung(origin.model)
    if variant == "eager-control":
        return Rung(origin.copy())
    if variant == "model-new":
        return Rung(_model_new(origin))
    model = origin.copy()
    stands_on: list[Variant] = []
    if variant == "fused-ops":
        model = _fused_ops(model, origin)
    elif variant == "fused-projections":
        model, with_ops = _fused_projections(model, origin, with_ops="fused-ops" in below)
        stands_on += ["fused-ops"] if with_ops else []
    if variant == "compile":
        return Rung(_compiled(model))
    if "compile" in below:
        return Rung(_compiled(model), ("compile", *stands_on))
    return Rung(model, tuple(stands_on))


def forget_compilations() -> None:
    """Makes earlier compilations of this process count for nothing; call it once, before the first rung."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way


def _compiled(model: nn.Module) -> Callable[..., Any]:
    compiled: Callable[..., Any] = torch.compile(model, mode=os.environ.get(COMPILE_MODE) or "default")
    return compiled


def _fused_ops(model: nn.Module, origin: Origin) -> nn.Module:
    if reason := _triton_refusal(origin):
        raise UnavailableError(f"{reason}.")
    model, replaced = rewrite(model, cloned(origin.inputs), fused_ops)
    if not replaced:
        raise UnavailableError("No RMSNorm or SiLU×mul was found in Model.")
    return model


def _fused_projections(model: nn.Module, origin: Origin, *, with_ops: bool) -> tuple[nn.Module, bool]:
    propose = fused_projections if with_ops else gate_up_only
    model, replaced = rewrite(model, cloned(origin.inputs), propose)
    projections = sum(isinstance(module, FusedGatedMLP) for module in model.modules())
    if not projections:
        raise UnavailableError("No gate and up projections of a SwiGLU feed-forward layer were found in Model.")
    return model, len(replaced) > projections


def _model_new(origin: Origin) -> nn.Module:
    if not origin.snippet.has_model_new:
        raise UnavailableError("The snippet has no ModelNew.")
    model = origin.snippet.build("ModelNew")
    mine, theirs = model.state_dict(), origin.model.state_dict()
    if {name: value.shape for name, value in mine.items()} == {name: value.shape for name, value in theirs.items()}:
        model.load_state_dict(theirs)
    return model


def _triton_refusal(origin: Origin) -> str | None:
    """Why the fused Triton ops cannot run for tensors like Model's, or None."""
    floating = [
        x
        for x in (*tensors(list(origin.inputs)), *origin.model.parameters())
        if isinstance(x, Tensor) and x.is_floating_point()
    ]
    if not floating:
        return "Model has no floating-point tensors"
    return SILU_MUL.refusals(floating[0])["triton"]
