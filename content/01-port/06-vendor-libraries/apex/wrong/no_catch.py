# fails: case_missing
# message: A missing library must not stop the program.
"""What this project used of apex, and an import that may fail."""

import importlib
from types import ModuleType

from torch import nn


def make_norm(width: int) -> nn.Module:
    """Replaces `apex.normalization.FusedRMSNorm(width)`, whose eps is 1e-5."""
    # hole: norm
    # The default of nn.RMSNorm is float32's machine epsilon, 1.2e-7, also in bfloat16.
    return nn.RMSNorm(width, eps=1e-5)
    # end: norm


def optimizer_arguments(lr: float) -> dict:
    """Arguments with which `torch.optim.AdamW` replaces `apex.optimizers.FusedAdam(parameters, lr=lr)`."""
    # hole: optimizer
    # The default of AdamW is a weight_decay of 0.01, so every weight would shrink.
    return {"lr": lr, "weight_decay": 0.0, "fused": True}
    # end: optimizer


def optional(name: str) -> ModuleType | None:
    """The module, or None if it or a library that it needs is not installed."""
    # hole: probe
    return importlib.import_module(name)
    # end: probe
