"""Failures of a tier: the next tier runs, unless the tier did not cause the failure."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from three_tiers import TIERS, twice, who_ran
from torch import Tensor
from triton.errors import TritonError
from triton.runtime.errors import OutOfResources

from hipward_kernels.dispatch.registry import Op
from hipward_kernels.dispatch.tier_failure import failure
from hipward_kernels.jit.driver import LaunchError
from hipward_kernels.jit.grid import GridError
from hipward_kernels.jit.libraries import BuildError, MissingLibraryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["twice"]


def fails(error: Exception) -> Callable[[Tensor], Tensor]:
    def fail(_: Tensor) -> Tensor:
        raise error

    return fail


def inside_triton(error: Exception) -> Callable[[Tensor], Tensor]:
    """As an error that a function of Triton's raises."""
    body = "def compile(error):\n    raise error\n"
    namespace: dict[str, Any] = {"__name__": "triton.compiler.compiler"}
    exec(body, namespace)
    return lambda _: namespace["compile"](error)


@pytest.mark.parametrize(
    "fail",
    [
        fails(BuildError("no compiler")),
        fails(OSError("libamdhip64.so: cannot open shared object file")),
        fails(MissingLibraryError("libamdhip64.so cannot be loaded")),
        fails(LaunchError("loading forward: no kernel image is available (code 209)", 209)),
        fails(LaunchError("launching forward: invalid configuration argument (code 9)", 9)),
        fails(subprocess.CalledProcessError(1, ["gcc"])),
        fails(ImportError("libtriton.so: undefined symbol")),
        fails(TritonError("at 3:4: unsupported")),
        fails(RuntimeError("Triton Error [HIP]:  Code: 209, Messsage: no kernel image is available for execution")),
        inside_triton(RuntimeError("PassManager::run failed")),
        inside_triton(AssertionError("libamdhip64.so not found")),
    ],
    ids=str,
)
def test_failing_tier_is_disabled_and_reported_once(
    fail: Callable[[Tensor], Tensor], twice: Op, caplog: pytest.LogCaptureFixture
) -> None:
    sys.modules["twice_op.hip"].refuse = fail  # type: ignore[attr-defined]
    assert who_ran(twice, torch.ones(4, 8)) == ["hip", "triton"]
    assert who_ran(twice, torch.ones(4, 8)) == ["triton"]
    assert who_ran(twice, torch.ones(5, 8)) == ["triton"]
    assert caplog.text.count("twice runs without its hip kernels: ") == 1
    assert (twice.refusals(torch.ones(1))["hip"] or "") in caplog.text


@pytest.mark.parametrize(
    "error", [GridError("8388608 blocks of 512 threads"), OutOfResources(70000, 65536, "shared memory")]
)
def test_tier_that_cannot_launch_some_inputs_is_used_for_others(
    error: Exception, twice: Op, caplog: pytest.LogCaptureFixture
) -> None:
    hip: Any = sys.modules["twice_op.hip"]
    hip.refuse = lambda x: fails(error)(x) if len(x) > 4 else 2 * x
    assert who_ran(twice, torch.ones(5, 8)) == ["hip", "triton"]
    assert who_ran(twice, torch.ones(5, 8)) == ["triton"]
    assert who_ran(twice, torch.ones(4, 8)) == ["hip"]
    assert caplog.text.count("for inputs like these: ") == 1
    assert twice.refusals(torch.ones(1))["hip"] is None


@pytest.mark.parametrize(
    "fail",
    [
        fails(ValueError("gate is [2, 3] and up is [3, 2]")),
        fails(TypeError("x has dtype int64")),
        fails(RuntimeError("a mistake of ours")),
        fails(torch.OutOfMemoryError("CUDA out of memory")),
        fails(LaunchError("launching forward: out of memory (code 2)", 2)),
        fails(LaunchError("launching forward: an illegal memory access was encountered (code 700)", 700)),
        fails(RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")),
        inside_triton(RuntimeError("CUDA out of memory")),
        inside_triton(TypeError("missing a required argument: 'BLOCK'")),
    ],
    ids=str,
)
def test_caller_errors_and_device_failures_are_raised(
    fail: Callable[[Tensor], Tensor], twice: Op, caplog: pytest.LogCaptureFixture
) -> None:
    hip: Any = sys.modules["twice_op.hip"]
    x = torch.ones(4, 8)
    hip.refuse = fail
    with pytest.raises(Exception) as raised:  # noqa: PT011 - any of these
        twice(x)
    assert failure(raised.value) is None
    hip.refuse = None
    assert who_ran(twice, x) == ["hip"], "the tier is not given up"
    assert "does without" not in caplog.text


def test_tier_that_cannot_be_imported_is_reported_with_the_reason(tmp_path: Path, twice: Op) -> None:
    del twice
    (tmp_path / "twice_op" / "hip.py").write_text("raise OSError('libtriton.so: cannot open shared object file')\n")
    del sys.modules["twice_op.hip"]
    importlib.invalidate_caches()
    again = Op("twice_op", "twice", TIERS)
    assert again.refusals(torch.ones(1))["hip"] == "OSError: libtriton.so: cannot open shared object file"
    assert torch.equal(again(torch.ones(1, 8)), torch.full((1, 8), 2.0))
