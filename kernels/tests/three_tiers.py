"""An op with three tiers that run on a CPU, for tests of how they are chosen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from hipward_kernels.dispatch import registry
from hipward_kernels.dispatch.registry import Op, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIERS = ("hip", "triton", "eager")


@pytest.fixture
def twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    """An op with three tiers that run on a CPU and report which one ran."""
    package = tmp_path / "twice_op"
    package.mkdir()
    (package / "__init__.py").touch()
    for tier in TIERS:
        body = "ran = []\ndef twice(x):\n    ran.append(1)\n    return refuse(x) if refuse else 2 * x\nrefuse = None\n"
        (package / f"{tier}.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    for tier in TIERS:
        monkeypatch.setitem(registry.TIERS, tier, Tier(tier, lambda: None, lambda _: None))
    yield Op("twice_op", "twice", TIERS)
    for name in ("twice_op", *(f"twice_op.{tier}" for tier in TIERS)):
        sys.modules.pop(name, None)


def who_ran(op: Op, x: Tensor) -> list[str]:
    modules: dict[str, Any] = {tier: sys.modules[f"twice_op.{tier}"] for tier in TIERS}
    for module in modules.values():
        module.ran.clear()
    torch.testing.assert_close(op(x), 2 * x)
    return [tier for tier, module in modules.items() if module.ran]
