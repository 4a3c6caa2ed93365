"""Training steps of the ops without Python: loads `training.cpp` and connects it with the kernels of the HIP tier.

An autograd function in Python costs several hundred microseconds of host time for a forward and backward, more than the
kernels of a small shape take. `training.cpp` does the same in C++. It is compiled at the first training step, once for
each PyTorch. Without a C++ compiler, or with `HIPWARD_DISABLE=native`, the autograd functions in Python are used, which
launch the same kernels.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hipward_kernels.dispatch import registry
from hipward_kernels.jit import extension
from hipward_kernels.jit.driver import INVALID_CONTEXT, driver
from hipward_kernels.jit.libraries import BuildError
from hipward_kernels.jit.libraries import load as load_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

log = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("training.cpp")

NAME = "native"
"""The name that disables it."""

OPS = (
    "rmsnorm",
    "add_rmsnorm",
    "silu_mul",
    "gelu_mul",
    "layernorm",
    "softmax",
    "swiglu",
    "rope",
    "qkv_rope",
    "cross_entropy",
)
"""The ops, in the order of `enum Op` in the source."""

DTYPES = {5: torch.float16, 6: torch.float32, 15: torch.bfloat16}
"""PyTorch's numbers of the dtypes that the kernels have."""

STREAM = "aoti_torch_get_current_cuda_stream"
"""PyTorch's C function for the current stream, on CUDA and on ROCm."""

_prepare: dict[str, Callable[[bool, Sequence[int]], tuple[int, ...] | None]] = {}

_thread = threading.local()


def register(op: str, prepare: Callable[[bool, Sequence[int]], tuple[int, ...] | None]) -> None:
    """Registers the function that selects the kernels of an op.

    Args:
        op: Name of the op.
        prepare: Returns the launch for a form of the arguments, or None if the kernels do not support it. Its arguments
            are whether the launch is for the backward, and the numbers of `Form` in the source.
    """
    _prepare[op] = prepare


def prepared(form: Sequence[int]) -> tuple[int, ...] | None:
    """The launch for a form of the arguments: the numbers of `Plan` in the source; None if no kernel supports it."""
    return _prepare[OPS[form[1]]](bool(form[2]), form)


def failed(code: int, device: int, blocks: int, threads: int) -> None:
    """Sets the device's context in a thread without one, else raises `LaunchError`."""
    if code == INVALID_CONTEXT and not torch.version.hip and not getattr(_thread, "adopted", False):
        driver().adopt_context(device)
        _thread.adopted = True
        return
    driver().check(code, f"launching a kernel with {blocks} blocks of {threads} threads")


def addresses() -> tuple[int, int]:
    """The addresses of the driver's launch function and of PyTorch's function for the current stream.

    Raises:
        BuildError: A library is missing.
        AttributeError: This PyTorch does not have the function.
    """
    library = load_library("libtorch_hip" if torch.version.hip else "libtorch_cuda")
    launch, stream = (ctypes.cast(function, ctypes.c_void_p).value for function in (driver().launch, library[STREAM]))
    return launch or 0, stream or 0


@lru_cache(maxsize=1)
def _module() -> Any | None:
    try:
        module = extension.load(SOURCE, "hipward_training")
        module.connect(*addresses(), prepared, failed)
    except (BuildError, AttributeError, OSError) as error:
        log.warning("training steps run in Python, with more time of the host for each call: %s", error)
        return None
    return module


def module() -> Any | None:
    """The compiled module, or None if it is disabled or cannot be built."""
    return None if registry.is_disabled(NAME) else _module()


def run(op: str, *arguments: Any) -> Any | None:
    """The result of an op's compiled step; None if there is no module, or it has no kernels for the arguments."""
    compiled = module()
    return None if compiled is None else getattr(compiled, op)(*arguments)
