"""Finds the GPU libraries of the installed PyTorch: the runtime, and the run-time compilers.

PyTorch from pip includes its libraries, in its own package or in separate wheels, and the ROCm or CUDA of the system
may have another version or be missing. Two HIP runtimes in one process do not share state: a stream of one is invalid
in the other. So libraries that are already mapped come first, then those that PyTorch would load.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAPS = Path("/proc/self/maps")

WHEELS = ("_rocm_sdk_core", "_rocm_sdk_devel", "rocm_sdk", "nvidia")
"""Packages of ROCm's and NVIDIA's wheels that contain libraries, in `lib` or in `*/lib`."""

SYSTEM = ("/opt/rocm/lib", "/opt/rocm/lib64")
"""Installation directories of ROCm, which are not always in the loader's search path."""


class BuildError(Exception):
    """A source did not compile, or there is no compiler; the message contains the compiler's output."""


class MissingLibraryError(BuildError):
    """A library is missing; the message lists the searched places."""


def candidates(stem: str, beside: Sequence[str] = ()) -> Iterator[str]:
    """Paths of a library, `libamdhip64` or `libnvrtc`, best first; then names for the loader.

    Args:
        stem: The file's name up to `.so`.
        beside: Stems of libraries of the same release. If one of them is mapped, its directory comes first, because a
            compiler should have the same release as the runtime.
    """
    mapped = _mapped()
    folders = [path.parent for other in beside for path in mapped if _is(path, other)]
    folders += [Path(torch.__file__).parent / "lib", *_wheel_folders(), *map(Path, SYSTEM)]
    seen = dict.fromkeys(str(path) for path in mapped if _is(path, stem))
    for folder in folders:
        # The longest name has the whole version, such as libamdhip64.so.7.0.2; links may be missing in a package.
        found = sorted((path for path in folder.glob(f"{stem}.so*") if _is(path, stem)), key=_version, reverse=True)
        seen.update(dict.fromkeys(map(str, found)))
    yield from seen
    # Names with a version come first: the loader finds libraries of this process by them.
    yield from [*(f"{stem}.so.{major}" for major in _majors(stem)), f"{stem}.so"]


def load(stem: str, beside: Sequence[str] = (), mode: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """Loads a library: the one that this process already uses, if any.

    Raises:
        MissingLibraryError: It is missing or cannot be loaded.
    """
    tried = []
    for name in candidates(stem, beside):
        try:
            return mode(name)
        except OSError as error:
            tried.append(str(error))
    raise MissingLibraryError(
        f"{stem}.so cannot be loaded: it is not in this process, beside PyTorch, in the wheels "
        f"{', '.join(WHEELS)}, in {', '.join(SYSTEM)} or known to the loader ({tried[-1]}). Install the ROCm or CUDA "
        "that this PyTorch is for, or add its folder to LD_LIBRARY_PATH."
    )


def _mapped() -> list[Path]:
    """Shared libraries of this process."""
    try:
        lines = MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    # A line is: addresses, permissions, offset, device, inode, path.
    paths = (line.split(maxsplit=5)[5:] for line in lines)
    return list(dict.fromkeys(Path(path) for rest in paths for path in rest if ".so" in path))


@lru_cache(maxsize=1)
def _wheel_folders() -> list[Path]:
    folders = []
    for package in WHEELS:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        for root in (spec.submodule_search_locations or ()) if spec else ():
            folders += [Path(root) / "lib", *sorted(Path(root).glob("*/lib"))]
    return [folder for folder in folders if folder.is_dir()]


def _is(path: Path, stem: str) -> bool:
    """Whether a file is this library, and not one with a longer name, such as `libnvrtc-builtins`."""
    return re.fullmatch(rf"{re.escape(stem)}\.so(\.\d+)*", path.name) is not None


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in path.name.partition(".so")[2].split(".") if number)


def _majors(stem: str) -> list[str]:
    """Major versions in a library's name: that of PyTorch's CUDA or ROCm; 1 for CUDA's driver."""
    if stem == "libcuda":
        return ["1"]
    version = torch.version.hip or torch.version.cuda
    return [version.partition(".")[0]] if version else []
