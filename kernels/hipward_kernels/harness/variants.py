"""The rungs of the ladder: how each is made from the author's `Model`.

Each rung stands on those below it that the job asks for: with `eager, compile, fused-ops`, the last is `torch.compile`
of the model with fused ops; with `eager, fused-ops` it is the fused ops alone. So every rung can be switched off, and
seen alone. The steps themselves are the ladder's (`hipward_kernels/ladder.py`). Every rung but `eager` has its own copy
of the same weights. To add a rung: one branch of `build`, one name in `lines.py` and in the protocol.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.harness.outputs import cloned, tensors
from hipward_kernels.ladder import COMPILE, OPS, PROJECTIONS, Switches, optimize
from hipward_kernels.ops.silu_mul import OP as SILU_MUL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import Variant


GRAPH_MODES = ("reduce-overhead", "max-autotune")
"""Modes of `torch.compile` that replay CUDA or HIP graphs into the same memory."""


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
    results_last: bool = True
    """False where each call may write over the last result: graph replays do, by design."""


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
    mode = os.environ.get(COMPILE) or "default"
    if variant == "compile":
        return Rung(optimize(origin.copy(), (), Switches(compile_mode=mode)).call, (), mode not in GRAPH_MODES)
    stands_on: list[Variant] = ["compile"] if "compile" in below else []
    if variant == "fused-ops":
        if reason := _triton_refusal(origin):
            raise UnavailableError(f"{reason}.")
        switches, switch, nothing = Switches(ops=True), OPS, "No RMSNorm or SiLU×mul was found in Model."
    else:
        with_ops = "fused-ops" in below
        stands_on += ["fused-ops"] if with_ops else []
        switches, switch = Switches(ops=with_ops, projections=True), PROJECTIONS
        nothing = "No gate and up projections of a SwiGLU feed-forward layer were found in Model."
    switches = replace(switches, compile_mode=mode if "compile" in below else None)
    done = optimize(origin.copy(), cloned(list(origin.inputs)), switches)
    if not done.replaced[switch]:
        raise UnavailableError(nothing)
    return Rung(done.call, tuple(stands_on), switches.compile_mode not in GRAPH_MODES)


def forget_compilations() -> None:
    """Makes earlier compilations of this process count for nothing; call it once, before the first rung."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way


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
