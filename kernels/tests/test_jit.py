"""Building HIP sources: the cache, its keys, and errors."""

from __future__ import annotations

import errno
import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from hipward_kernels.bench import amd_report
from hipward_kernels.dispatch.switches import switched
from hipward_kernels.jit import driver, store, toolchain
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.jit.libraries import MissingLibraryError, load
from hipward_kernels.jit.store import cached, key_of
from hipward_kernels.jit.toolchain import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    with switched(HIPWARD_JIT_CACHE=str(tmp_path / "cache")):
        yield tmp_path / "cache"


class Build:
    """Counts its calls."""

    def __init__(self, content: bytes = b"code") -> None:
        self.content = content
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return self.content


def test_key_separates_its_parts() -> None:
    assert key_of(["ab", "c"]) != key_of(["a", "bc"])
    assert key_of(["ab", b"c"]) == key_of([b"ab", "c"])


def test_build_is_cached() -> None:
    build = Build()
    assert [cached("k", build), cached("k", build), cached("other", build)] == [b"code"] * 3
    assert build.times == 2


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:0], lambda data: data[:-1] + b"X"])
def test_damaged_file_is_built_again(folder: Path, damage: object) -> None:
    build = Build()
    cached("k", build)
    (folder / "k").write_bytes(damage((folder / "k").read_bytes()))  # type: ignore[operator]
    assert cached("k", build) == b"code"
    assert build.times == 2
    assert cached("k", build) == b"code"
    assert build.times == 2


def test_build_is_cached_on_a_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    build = Build()
    assert [cached("k", build), cached("k", build)] == [b"code"] * 2
    assert build.times == 1


def test_rebuild_switch_rebuilds_once_per_process() -> None:
    build = Build()
    cached("k", build)
    store._rebuilt.clear()
    with switched(HIPWARD_JIT_REBUILD="1"):
        cached("k", build)
        cached("k", build)
    assert build.times == 2


def test_failed_build_leaves_no_files(folder: Path) -> None:
    def fail() -> bytes:
        raise BuildError("no")

    with pytest.raises(BuildError):
        cached("k", fail)
    assert [path.name for path in folder.iterdir()] == ["k.lock"]
    assert cached("k", Build()) == b"code"


def test_build_works_without_a_writable_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    build = Build()
    with switched(HIPWARD_JIT_CACHE=str(tmp_path / "file" / "cache")):
        assert cached("k", build) == b"code"
    assert build.times == 1
    assert "machine code is not cached" in caplog.text


def test_concurrent_processes_build_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"""
import time
from pathlib import Path
from hipward_kernels.jit.store import cached
def build():
    with Path({str(log)!r}).open("a") as file:
        file.write("built\\n")
    time.sleep(0.3)
    return b"x" * 100_000
assert cached("k", build) == b"x" * 100_000
"""
    environment = {"HIPWARD_JIT_CACHE": str(tmp_path / "shared"), "PYTHONPATH": str(ROOT), "PATH": ""}
    running = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert log.read_text() == "built\n"


@pytest.fixture
def nvrtc() -> toolchain.Toolchain:
    try:
        return toolchain.RuntimeCompiler(load("libnvrtc", ("libcudart",)), "nvrtc", "CUBIN")
    except MissingLibraryError:
        pytest.skip("this PyTorch is not for NVIDIA GPUs and brought no NVRTC")


HIP_KERNELS = {
    (kernel.source, kernel.name, *kernel.constants.items()): kernel
    for kernel in amd_report.kernels()
    if kernel.tier == "hip"
}


@pytest.mark.parametrize("kernel", HIP_KERNELS.values(), ids=lambda k: f"{k.op}-{k.name}-{k.dtype}-{k.shape}")
def test_same_source_compiles_for_nvidia(kernel: amd_report.Kernel, nvrtc: toolchain.Toolchain) -> None:
    macros = {f"HIPWARD_{name}": str(value) for name, value in {"WAVE": 32, **kernel.constants}.items()}
    code = nvrtc.compile(kernel.source.read_text(encoding="utf-8"), kernel.source.name, "sm_90", macros)
    assert code.startswith(b"\x7fELF")
    assert kernel.name.encode() in code


@pytest.mark.parametrize("columns", [8, 24, 48, 1032, 4104, 16384, 65536])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_every_row_length_has_a_launch_that_compiles(columns: int, arch: str, nvrtc: toolchain.Toolchain) -> None:
    hip = importlib.import_module("hipward_kernels.ops.rmsnorm.hip")
    shared = {"WAVE": 32, "T": "bf16", "W": "f32", "HAS_WEIGHT": 1}
    forward, backward = (
        hip.forward_plan(arch, 2048, columns, 2, 2, {}),
        hip.backward_plan("add_rmsnorm", arch, columns, 2),
    )
    # Without clusters, what does not fit into the registers of a block is left to the next tier.
    assert (forward is not None, backward is not None) == (
        arch == "sm_90" or columns <= 32768,
        arch == "sm_90" or columns <= 16384,
    )
    wanted = []
    if forward is not None:
        wanted.append(("hip.hip", "forward", {**shared, **forward[1]}))
    if backward is not None:
        wanted.append(("backward.hip", "backward", {**shared, **backward.macros(), "ADD": 1}))
    for file, entry, values in wanted:
        macros = {f"HIPWARD_{name}": str(value) for name, value in values.items()}
        source = (amd_report.OPS / "rmsnorm" / file).read_text(encoding="utf-8")
        assert entry.encode() in nvrtc.compile(source, file, arch, macros)


def test_every_change_causes_another_build(
    tmp_path: Path, nvrtc: toolchain.Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hipward_kernels.jit.kernel.toolchain", lambda: nvrtc)
    built: list[str] = []
    compile_ = nvrtc.compile

    def counting(source: str, name: str, arch: str, macros: dict[str, str]) -> bytes:
        built.append(arch)
        return compile_(source, name, arch, macros)

    monkeypatch.setattr(nvrtc, "compile", counting)
    file = tmp_path / "one.hip"
    file.write_text('extern "C" __global__ void one(float* x) { *x = HIPWARD_N; }')
    kernel = Kernel(file, "one", "P")
    first = kernel.build("sm_90", {"HIPWARD_N": "1"})
    assert kernel.build("sm_90", {"HIPWARD_N": "1"}) == first
    assert built == ["sm_90"]
    assert kernel.build("sm_90", {"HIPWARD_N": "2"}) != first
    kernel.build("sm_80", {"HIPWARD_N": "1"})
    file.write_text(file.read_text() + "// changed\n")
    kernel.build("sm_90", {"HIPWARD_N": "1"})
    assert built == ["sm_90", "sm_90", "sm_80", "sm_90"]


def test_compiler_error_is_reported_in_full(nvrtc: toolchain.Toolchain) -> None:
    with pytest.raises(
        BuildError, match=r'bad\.hip does not compile for sm_90 with nvrtc [\s\S]*identifier "y" is undefined'
    ):
        nvrtc.compile("void f() { y; }", "bad.hip", "sm_90", {})


def test_thread_without_a_context_gets_one_to_load_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backward may be the first to use the driver in autograd's thread."""
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    statuses = [driver.INVALID_CONTEXT, 0]
    adopted: list[int] = []

    class Library:
        @staticmethod
        def cuModuleLoadData(*_: object) -> int:  # noqa: N802 - CUDA's name
            return statuses.pop(0)

        @staticmethod
        def cuModuleGetFunction(function: Any, *_: object) -> int:  # noqa: N802
            function._obj.value = 7
            return 0

    made = driver.Driver.__new__(driver.Driver)
    made._names, made._library = driver.CUDA, Library()  # type: ignore[assignment]
    monkeypatch.setattr(made, "adopt_context", adopted.append)
    assert made.load(b"", "backward", 0) == 7
    assert adopted == [3]
