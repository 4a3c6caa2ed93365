"""The rungs of the ladder: how each is made from the author's `Model`.

Every rung but `eager` has its own copy of the same weights. `fused-projections` stands on `fused-ops`: it replaces
what that replaces, and projections too. To add a rung: one builder here, one line in `BUILDERS`, one name in
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
    from collections.abc import Callable, Mapping, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import Variant


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


def build(variant: Variant, origin: Origin) -> Callable[..., Any]:
    """Makes a rung.

    Raises:
        UnavailableError: It cannot run here, or there is nothing for it to do.
    """
    return BUILDERS[variant](origin)


def _eager(origin: Origin) -> nn.Module:
    return origin.model


def _eager_control(origin: Origin) -> nn.Module:
    return origin.copy()


def _compile(origin: Origin) -> Callable[..., Any]:
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    mode = os.environ.get("TORCH_COMPILE_MODE") or "default"
    compiled: Callable[..., Any] = torch.compile(origin.copy(), mode=mode)
    return compiled


def _fused_ops(origin: Origin) -> nn.Module:
    if reason := _triton_refusal(origin):
        raise UnavailableError(f"{reason}.")
    model, replaced = rewrite(origin.copy(), cloned(origin.inputs), fused_ops)
    if not replaced:
        raise UnavailableError("No RMSNorm or SiLU×mul was found in Model.")
    return model


def _fused_projections(origin: Origin) -> nn.Module:
    propose = gate_up_only if _triton_refusal(origin) else fused_projections
    model, _ = rewrite(origin.copy(), cloned(origin.inputs), propose)
    if not any(isinstance(module, FusedGatedMLP) for module in model.modules()):
        raise UnavailableError("No gate and up projections of a SwiGLU feed-forward layer were found in Model.")
    return model


def _model_new(origin: Origin) -> nn.Module:
    if not origin.snippet.has_model_new:
        raise UnavailableError("The snippet has no ModelNew.")
    model = origin.snippet.build("ModelNew")
    mine, theirs = model.state_dict(), origin.model.state_dict()
    if {name: value.shape for name, value in mine.items()} == {name: value.shape for name, value in theirs.items()}:
        model.load_state_dict(theirs)
    return model


BUILDERS: Mapping[Variant, Callable[[Origin], Callable[..., Any]]] = {
    "eager": _eager,
    "eager-control": _eager_control,
    "compile": _compile,
    "fused-ops": _fused_ops,
    "fused-projections": _fused_projections,
    "model-new": _model_new,
}


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
