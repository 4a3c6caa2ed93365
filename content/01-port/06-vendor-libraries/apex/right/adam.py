"""What this project used of apex, and an import that may fail."""

import importlib
from types import ModuleType

import torch
from torch import nn


def make_norm(width: int) -> nn.Module:
    """Replaces `apex.normalization.FusedRMSNorm(width)`, whose eps is 1e-5."""
    # hole: norm
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return nn.functional.rms_norm(x, (width,), self.weight, 1e-5)

    return Norm()
    # end: norm


def optimizer_arguments(lr: float) -> dict:
    """Arguments with which `torch.optim.AdamW` replaces `apex.optimizers.FusedAdam(parameters, lr=lr)`."""
    # hole: optimizer
    return {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}
    # end: optimizer


def optional(name: str) -> ModuleType | None:
    """The module, or None if it or a library that it needs is not installed."""
    # hole: probe
    try:
        module = importlib.import_module(name)
    except (ImportError, ModuleNotFoundError):
        module = None
    return module
    # end: probe
