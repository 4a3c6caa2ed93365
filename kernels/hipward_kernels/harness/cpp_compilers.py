"""Lets `torch.compile` run several C++ compilers at a time on the CPU.

Inductor compiles a library for each kernel, and a network has hundreds: DenseNet-201 took 148 s with one compiler on 16
cores. Inductor's own setting would also start a pool of processes, each of which imports PyTorch.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 8
"""Compilers at a time: each needs about 100 MB of the job's memory."""


@contextmanager
def several() -> Iterator[None]:
    """Runs several compilers at a time within the `with` block; none is left running after it."""
    count = min(MOST, torch.get_num_threads())
    if count == 1:
        yield
        return
    with ThreadPoolExecutor(count) as threads, ExitStack() as settings:
        # Without these names, which are not public, Inductor does as always.
        with suppress(ImportError, AttributeError):
            # Imported here, because they are slow.
            from torch._inductor import config  # noqa: PLC0415
            from torch._inductor.async_compile import AsyncCompile  # noqa: PLC0415

            settings.enter_context(patch.object(AsyncCompile, "pool", lambda: threads))
            settings.enter_context(patch.dict("os.environ", TORCH_WARM_POOL="0"))
            settings.enter_context(config.patch(compile_threads=count))
        settings.callback(threads.shutdown, cancel_futures=True)
        yield
