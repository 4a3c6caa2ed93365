"""Detects hooks of a module, which a replacement would not call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)


def has_hooks(module: nn.Module) -> bool:
    """Whether the module, or one inside it, has hooks on its forward or backward pass."""
    return any(getattr(each, name, None) for each in module.modules() for name in _HOOKS)
