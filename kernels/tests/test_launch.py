"""Launches of Triton kernels without a GPU: selection of the compiled kernel.

Only the driver is not real: Triton specializes, compiles for gfx942 or sm_90, and hands the kernel to a launcher that
writes down what it is given.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend

from hipward_kernels.jit import grid
from hipward_kernels.jit.grid import GridError
from hipward_kernels.ops import launch as launching
from hipward_kernels.ops.cross_entropy.hip import takes as cross_entropy_takes
from hipward_kernels.ops.gated.triton import forward_kernel
from hipward_kernels.ops.launch import launch, tensor_specialization
from hipward_kernels.ops.rmsnorm import hip as rmsnorm_hip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TARGETS = {"hip": GPUTarget("hip", "gfx942", 64), "cuda": GPUTarget("cuda", 90, 32)}
ROWS, COLUMNS, BLOCK = 64, 4096, 1024


class FakeDriver:
    """A GPU that compiles, and launches nothing."""

    def __init__(self, target: GPUTarget) -> None:
        self.launched: list[tuple[Any, ...]] = []
        self._target = target
        launched = self.launched

        class Launcher:
            def __init__(self, source: Any, metadata: Any) -> None:
                del source
                self._name = metadata

            def __call__(self, *arguments: Any) -> None:
                launched.append(arguments)

        self.launcher_cls = Launcher
        self.utils = SimpleNamespace(
            load_binary=lambda _name, code, _shared, _device: (0, code, 32, 0, 1024),
            unload_module=lambda _module: None,
            get_device_properties=lambda _device: {"max_shared_mem": 65536},
        )

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return device

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the fake driver has no {name}")


@pytest.fixture(params=list(TARGETS))
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeDriver]:
    fake = FakeDriver(TARGETS[request.param])
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: device, raising=False)
    before = triton.runtime.driver._active if hasattr(triton.runtime.driver, "_active") else None
    triton.runtime.driver.set_active(fake)
    forget()
    yield fake
    forget()
    triton.runtime.driver._active = before


def forget() -> None:
    launching._compiled.clear()
    launching._specialization.cache_clear()
    forward_kernel.device_caches.clear()


def tensors(storage_bytes: int) -> list[Tensor]:
    """Two inputs and an output of the same few rows, in storages of so many bytes; no memory behind them."""
    elements = storage_bytes // 2
    return [
        torch.empty(elements, dtype=torch.bfloat16, device="meta")[: ROWS * COLUMNS].view(ROWS, COLUMNS)
        for _ in range(3)
    ]


def silu_mul(gate: Tensor, up: Tensor, y: Tensor) -> None:
    """As `ops/gated/triton.py` launches it."""
    constants = {"GELU": False, "BLOCK": BLOCK}
    arguments = (gate, up, y, gate.stride(0), up.stride(0), gate.shape[1])
    launch(forward_kernel, (ROWS, COLUMNS // BLOCK), arguments, constants, 1)


def code_of(launched: tuple[Any, ...]) -> bytes:
    return next(argument for argument in launched if isinstance(argument, bytes))


SMALL, HUGE = 2 * ROWS * COLUMNS, 2**31 + 2


def test_large_tensor_after_a_small_one_uses_another_kernel_on_amd(driver: FakeDriver) -> None:
    for size in (SMALL, HUGE, SMALL, HUGE):
        silu_mul(*tensors(size))
    small, huge, *again = map(code_of, driver.launched)
    assert again == [small, huge]
    # AMD's compiler reaches a small tensor with 32-bit offsets; NVIDIA's compiles one kernel for both.
    assert (small != huge) == (driver.get_current_target().backend == "hip")


def test_one_large_tensor_among_small_ones_selects_the_large_kernel(driver: FakeDriver) -> None:
    gate, up, y = tensors(SMALL)
    silu_mul(gate, up, y)
    silu_mul(gate, up, tensors(HUGE)[2])
    small, mixed = map(code_of, driver.launched)
    assert (small != mixed) == (driver.get_current_target().backend == "hip")


def test_repeated_launch_equals_tritons_first_launch(driver: FakeDriver) -> None:
    gate, up, y = tensors(SMALL)
    silu_mul(gate, up, y)
    silu_mul(gate, up, y)
    first, second = driver.launched
    # Triton gives its launcher tensors where ours gives addresses; hooks and metadata for hooks are left out.
    assert len(first) == len(second), "Triton's launcher takes other arguments in this version"
    assert len(driver.launched) == 2
    plain = [(a, b) for a, b in zip(first, second, strict=True) if not isinstance(a, Tensor) and b is not None]
    assert all(a == b for a, b in plain)
    assert [b for a, b in zip(first, second, strict=True) if isinstance(a, Tensor)] == [0, 0, 0]


def test_other_types_of_scalars_use_another_kernel(driver: FakeDriver) -> None:
    assert driver.launched == []
    gate, up, y = tensors(SMALL)
    for columns in (1, 1.0):
        arguments = (gate, up, y, gate.stride(0), up.stride(0), columns)
        try:
            launch(forward_kernel, (1, 1), arguments, {"GELU": False, "BLOCK": BLOCK}, 1)
        except triton.CompilationError:
            assert columns == 1.0, "a number of columns is no float: Triton was asked, and said so"
            return
    code = [code_of(launched) for launched in driver.launched]
    assert code[0] != code[1]


def test_key_distinguishes_tensors_like_the_backend() -> None:
    amd, nvidia = (make_backend(target) for target in TARGETS.values())
    assert tensor_specialization(nvidia) is None, "nothing that the launch would have to find out at each call"
    mine = tensor_specialization(amd)
    assert mine is not None
    whole = torch.empty(2**31 + 64, dtype=torch.int8, device="meta")
    examples = [
        torch.empty(size, dtype=torch.int8, device="meta") for size in (0, 16, 2**31 - 2, 2**31 - 1, 2**31, 2**33)
    ]
    examples += [whole[:16], whole[1:17], whole[:1].expand(2**31), torch.empty(1, device="meta").expand(2**31)]
    theirs = [amd.get_tensor_specialization(x) for x in examples]
    assert len(set(theirs)) == 2
    assert dict.fromkeys(zip(theirs, map(mine, examples), strict=True)).keys() == {("S", False), ("", True)}


def test_tensor_specialization_of_the_backend_is_used() -> None:
    def question(x: Tensor) -> str:
        return "E" if x.shape[0] % 2 == 0 else ""

    asks = tensor_specialization(SimpleNamespace(get_tensor_specialization=question))
    assert asks is question
    older = tensor_specialization(SimpleNamespace())
    assert older is not None
    assert older(tensors(SMALL)[0]) != older(tensors(HUGE)[0]), "a Triton that asks in another way"


@pytest.mark.parametrize(("hip", "most"), [(True, 2**32 // 512 - 1), (False, 2**31 - 1)])
def test_too_large_grid_is_rejected_before_the_launch(hip: bool, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "HIP", hip)
    assert grid.most_blocks(512) == most
    grid.check_grid((most, 65535), 512)
    with pytest.raises(GridError, match=f"{most + 1} blocks of 512 threads; the device launches {most}"):
        grid.check_grid((most + 1,), 512)
    with pytest.raises(GridError, match="second or third"):
        grid.check_grid((1, 65536), 512)


def test_hip_tier_passes_too_large_grids_to_the_next_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    def logits(rows: int) -> Tensor:
        return torch.empty(1, 1024, dtype=torch.bfloat16, device="meta").expand(rows, 1024)

    most = 2**32 // 512 - 1
    for hip, taken in ((False, True), (True, False)):
        monkeypatch.setattr(grid, "HIP", hip)
        assert cross_entropy_takes(logits(most))
        assert cross_entropy_takes(logits(most + 1)) == taken

    loaded: list[int] = []
    monkeypatch.setattr(rmsnorm_hip, "get_gfx", lambda _device: "gfx942")
    monkeypatch.setattr(rmsnorm_hip._FORWARD, "get", lambda _device, threads, **_: loaded.append(threads))
    rmsnorm_hip.ready.cache_clear()
    arguments = ("rmsnorm", 0, torch.bfloat16, None)
    assert rmsnorm_hip.ready(0, *arguments, 1000, 4096, 4096, 4096) is not None
    most = 2**32 // loaded[0]
    assert rmsnorm_hip.ready(0, *arguments, most - 1, 4096, 4096, 4096) is not None
    assert rmsnorm_hip.ready(0, *arguments, most, 4096, 4096, 4096) is None
    rmsnorm_hip.ready.cache_clear()


@pytest.mark.parametrize(("arch", "lanes"), [("gfx942", 64), ("gfx1100", 32), ("gfx1250", 32), ("sm_90", 32)])
def test_the_warp_size_is_that_of_the_device(arch: str, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "get_gfx", lambda _device: arch)
    launching._warp_size.cache_clear()
    try:
        assert launching.warp_size_of(0) == lanes
    finally:
        launching._warp_size.cache_clear()
