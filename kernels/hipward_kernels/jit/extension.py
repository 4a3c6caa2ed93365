"""Builds a C++ source into a Python extension module at first use, with PyTorch's headers and the host's compiler.

The cache is that of the machine code (`store.py`): the key has the source, the compiler, and the versions of PyTorch
and Python. `CXX` names the compiler; the default is `c++`.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import logging
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.utils import cpp_extension

from hipward_kernels.jit.libraries import BuildError
from hipward_kernels.jit.store import cached, key_of

if TYPE_CHECKING:
    from types import ModuleType

log = logging.getLogger(__name__)

LIBRARIES = ("c10", "torch_cpu", "torch_python")

LIMIT_S = 300
"""Longest time of a build. A usual one takes 10 to 40 seconds."""


def command(compiler: str, name: str) -> list[str]:
    """The compiler's command, without the source and the output."""
    headers = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)  # noqa: SLF001 - what cpp_extension itself reads
    return [
        *(compiler, "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-std=c++20"),
        *(f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-DTORCH_EXTENSION_NAME={name}"),
        *(f"-isystem{folder}" for folder in headers),
    ]


def build(source: Path, name: str) -> bytes:
    """The shared library of a C++ source, from the cache if possible.

    Raises:
        BuildError: There is no compiler, or the source does not compile.
    """
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise BuildError("no C++ compiler: neither CXX nor c++ is a program in PATH")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    options = command(compiler, name)
    text = source.read_text(encoding="utf-8")
    key = key_of([text, version, *options, torch.__version__, sysconfig.get_config_var("EXT_SUFFIX")])
    return cached(key, lambda: _compile(text, source.name, options))


def _compile(text: str, name: str, options: list[str]) -> bytes:
    libraries = [f"-L{folder}" for folder in cpp_extension.library_paths()] + [f"-l{name}" for name in LIBRARIES]
    log.info("compiling %s, once for this PyTorch", name)
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / name, Path(folder) / "module.so"
        source.write_text(text, encoding="utf-8")
        program = [*options, str(source), *libraries, "-o", str(output)]
        try:
            done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"{name} was not compiled within {LIMIT_S} seconds") from error
        if done.returncode:
            raise BuildError(f"{name} does not compile with {options[0]}:\n{done.stderr}")
        return output.read_bytes()


def load(source: Path, name: str) -> ModuleType:
    """The extension module of a C++ source.

    Raises:
        BuildError: There is no compiler, the source does not compile, or the module cannot be loaded.
    """
    code = build(source, name)
    # The loader needs a file only until the module is mapped.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        path.write_bytes(code)
        loader = importlib.machinery.ExtensionFileLoader(name, str(path))
        try:
            module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader, origin=str(path)))
            loader.exec_module(module)
        except ImportError as error:
            raise BuildError(f"{name} cannot be loaded: {error}") from error
    return module
