"""What this project used of apex, and an import that may fail."""

import importlib
from types import ModuleType

from torch import nn


def make_norm(width: int) -> nn.Module:
    """Replaces `apex.normalization.FusedRMSNorm(width)`, whose eps is 1e-5."""
    # hole: norm
    return nn.RMSNorm(width)
    # end: norm


def optimizer_arguments(lr: float) -> dict:
    """Arguments with which `torch.optim.AdamW` replaces `apex.optimizers.FusedAdam(parameters, lr=lr)`."""
    # hole: optimizer
    return {"lr": lr, "fused": True}
    # end: optimizer


def optional(name: str) -> ModuleType | None:
    """The module, or None if it or a library that it needs is not installed."""
    # hole: probe
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001
        return None
    # end: probe
