"""Makes ops use a tier that they refused when they were imported on a host without a GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from unittest import mock

from hipward_kernels.dispatch import registry
from hipward_kernels.dispatch.cache import DispatchCache

if TYPE_CHECKING:
    from contextlib import ExitStack

    from hipward_kernels.dispatch.registry import Op


def ops_with(tier: str) -> list[Op]:
    """The ops that have a tier."""
    return [op for op in registry._ops.values() if any(one.name == tier for one in op._tiers)]  # noqa: SLF001


def use_tier(op: Op, tier: str, stack: ExitStack) -> None:
    """Makes `op` use `tier` until `stack` is closed."""
    package = op.definition.__module__.rpartition(".")[0]
    function = getattr(importlib.import_module(f"{package}.{tier}"), op.name)
    refused = {name: reason for name, reason in op._refused.items() if name != tier}  # noqa: SLF001 - decided at import
    stack.enter_context(mock.patch.object(op, "_refused", refused))
    stack.enter_context(mock.patch.object(op, "_functions", {**op._functions, tier: function}))  # noqa: SLF001
    # Choices are cached.
    stack.enter_context(mock.patch.object(op, "_chosen", DispatchCache()))
