"""The optimization ladder for a model of one's own: each step on top of the last, each with its own switch, all off.

    USE_OPTIMIZED_OPS=1 USE_FUSED_PROJECTIONS=1 TORCH_COMPILE_MODE=default python serve.py

    model = optimize(model, [example_input]).call

Environment variables, with the names that porting guides use:

* `USE_OPTIMIZED_OPS=1`: fused Triton or HIP ops in place of the modules that they match.
* `USE_FUSED_PROJECTIONS=1`: projections that read the same input as one matrix product.
* `TORCH_COMPILE_MODE=default`: `torch.compile` of all that, in this mode.

Switches of routing (`USE_AITER_ATTENTION`, `USE_AITER_GEMM`, `GEMM_M_THRESHOLD`, …) are read where calls are routed.
The harness measures the same steps as rungs (`harness/variants.py`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.rewrite import rewrite
from hipward_kernels.rewrite.candidates import fused_ops, gate_up_only

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import nn

OPS, PROJECTIONS, COMPILE = "USE_OPTIMIZED_OPS", "USE_FUSED_PROJECTIONS", "TORCH_COMPILE_MODE"


@dataclass(frozen=True)
class Optimized:
    """A model with the steps that were switched on."""

    call: Callable[..., Any]
    model: nn.Module
    """Holds the parameters, also where `call` is compiled."""
    replaced: dict[str, list[str]]
    """By switch, in order: names of the modules that it replaced; "" is the model as a whole."""

    def in_words(self) -> list[str]:
        """For a log: `USE_OPTIMIZED_OPS replaced norm, mlp`."""
        return [
            f"{switch} replaced {', '.join(name or 'the whole model' for name in names) or 'nothing'}"
            for switch, names in self.replaced.items()
        ]


@dataclass(frozen=True)
class Switches:
    """Which steps to take."""

    ops: bool = False
    projections: bool = False
    compile_mode: str | None = None

    @staticmethod
    def of(environment: Mapping[str, str]) -> Switches:
        """Reads the switches of an environment.

        Raises:
            ValueError: One that is 0 or 1 is something else.
        """

        def on(name: str) -> bool:
            value = environment.get(name, "0") or "0"
            if value not in ("0", "1"):
                raise ValueError(f"{name} is {value!r}; it is switched by 0 and 1")
            return value == "1"

        return Switches(on(OPS), on(PROJECTIONS), environment.get(COMPILE) or None)


def optimize(model: nn.Module, inputs: Sequence[Any], switches: Switches | None = None) -> Optimized:
    """Takes the steps that are switched on.

    Args:
        model: Changed in place by the first two steps, which keep only replacements that compute the same.
        inputs: Arguments of one call, which is made to see what the model passes to its modules.
        switches: What to do; the environment's unless given.
    """
    chosen = Switches.of(os.environ) if switches is None else switches
    replaced: dict[str, list[str]] = {}
    if chosen.ops:
        model, replaced[OPS] = rewrite(model, inputs, fused_ops)
    if chosen.projections:
        # What the step before has replaced is recognized again: a gated layer with fused ops is still one.
        model, replaced[PROJECTIONS] = rewrite(model, inputs, gate_up_only)
    if chosen.compile_mode is None:
        return Optimized(model, model, replaced)
    compiled: Callable[..., Any] = torch.compile(model, mode=chosen.compile_mode)
    return Optimized(compiled, model, replaced)
