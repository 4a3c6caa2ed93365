"""Search order of GPU libraries: the process, PyTorch's own, the system."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from hipward_kernels.jit import driver, libraries
from hipward_kernels.jit.libraries import BuildError, MissingLibraryError, candidates, load
from hipward_kernels.jit.toolchain import toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNTIME, COMPILER = "libamdhip64", "libhiprtc"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine with three releases of ROCm: beside PyTorch, in wheels, and in the system."""
    for folder, release in (
        ("torch/lib", "7.2"),
        ("_rocm_sdk_core/lib", "7.1"),
        ("rocm", "6.4"),
        ("venv/libs", "7.0"),
    ):
        (tmp_path / folder).mkdir(parents=True)
        for stem in (RUNTIME, COMPILER, "libhiprtc-builtins"):
            (tmp_path / folder / f"{stem}.so.{release}").touch()
    (tmp_path / "_rocm_sdk_core" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "torch" / "__init__.py"))
    monkeypatch.setattr(torch.version, "hip", "7.2.1")
    monkeypatch.setattr(libraries, "SYSTEM", (str(tmp_path / "rocm"),))
    monkeypatch.setattr(libraries, "MAPS", tmp_path / "maps")
    libraries._wheel_folders.cache_clear()
    yield tmp_path
    libraries._wheel_folders.cache_clear()


def maps(machine: Path, *files: str) -> None:
    line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42                         {}\n"
    libraries.MAPS.write_text(
        "".join(line.format(machine / file) for file in (*files, *files)) + "7f00-7f01 rw-p 0 0 0\n"
    )


def short(machine: Path, found: list[str]) -> list[str]:
    return [name.removeprefix(f"{machine}/") for name in found]


def test_libraries_of_pytorch_precede_wheels_and_the_system(machine: Path) -> None:
    assert short(machine, list(candidates(RUNTIME))) == [
        "torch/lib/libamdhip64.so.7.2",
        "_rocm_sdk_core/lib/libamdhip64.so.7.1",
        "rocm/libamdhip64.so.6.4",
        "libamdhip64.so.7",
        "libamdhip64.so",
    ]


def test_loaded_runtime_precedes_all_others(machine: Path) -> None:
    maps(machine, "venv/libs/libamdhip64.so.7.0", "venv/libs/libc10_hip.so")
    assert short(machine, list(candidates(RUNTIME)))[:2] == [
        "venv/libs/libamdhip64.so.7.0",
        "torch/lib/libamdhip64.so.7.2",
    ]


def test_compiler_has_the_release_of_the_loaded_runtime(machine: Path) -> None:
    maps(machine, "venv/libs/libamdhip64.so.7.0")
    found = short(machine, list(candidates(COMPILER, (RUNTIME,))))
    assert found[0] == "venv/libs/libhiprtc.so.7.0"
    assert not any("builtins" in name for name in found), "another library whose name begins alike"


def test_newest_library_of_a_folder_is_selected_by_version(machine: Path) -> None:
    for name in ("libamdhip64.so", "libamdhip64.so.10.0", "libamdhip64.so.9.1"):
        (machine / "torch" / "lib" / name).touch()
    found = short(machine, list(candidates(RUNTIME)))
    assert [Path(name).name for name in found[:4]] == [
        "libamdhip64.so.10.0",
        "libamdhip64.so.9.1",
        "libamdhip64.so.7.2",
        "libamdhip64.so",
    ]


def test_nvidia_driver_is_reported_by_its_version(machine: Path) -> None:
    del machine
    assert list(candidates("libcuda"))[-2:] == ["libcuda.so.1", "libcuda.so"]


def test_library_of_this_process_is_not_loaded_twice() -> None:
    mine = load("libtorch_cpu")
    assert mine._name in libraries.MAPS.read_text()
    assert mine._handle == ctypes.CDLL(mine._name)._handle


def test_missing_library_is_reported_with_a_fix(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maps(machine)
    # Without the names for the loader, which may find a library of this host.
    monkeypatch.setattr(libraries, "candidates", lambda *of: [name for name in candidates(*of) if "/" in name])
    with pytest.raises(MissingLibraryError, match=r"libamdhip64\.so cannot be loaded: .* LD_LIBRARY_PATH"):
        driver.Driver(driver.HIP)  # Files that are no libraries.
    monkeypatch.setenv("PATH", "")
    toolchain.cache_clear()
    with pytest.raises(BuildError, match="no HIP compiler: hipcc is not in PATH either; libhiprtc"):
        toolchain()
    toolchain.cache_clear()
