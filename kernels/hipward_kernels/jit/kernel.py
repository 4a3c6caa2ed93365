"""A HIP kernel for the ops, built for a device at the first launch with a set of macros."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.jit.driver import Launch, driver
from hipward_kernels.jit.store import cached, key_of
from hipward_kernels.jit.toolchain import INCLUDE, options, toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

log = logging.getLogger(__name__)


class Kernel:
    """One `extern "C"` kernel of a HIP source."""

    def __init__(self, file: Path, entry: str, signature: str, *, overlaps: bool = False) -> None:
        """`signature` is the kernel's arguments in the letters of `struct`: P pointer, q int64, i int32, f float.

        `overlaps`: the kernel waits itself for earlier ones, so it may start before they have ended.
        """
        self.file, self.entry, self.signature, self.overlaps = file, entry, signature, overlaps

    def build(self, arch: str, macros: Mapping[str, str]) -> bytes:
        """Machine code for `arch`, from the cache if possible."""
        compiler = toolchain()
        source = self.file.read_text(encoding="utf-8")
        headers = [path.read_bytes() for path in sorted(INCLUDE.glob("*.h"))]
        # The directory of the headers is not part of the key; their content is.
        relevant = [option for option in options(arch, macros) if option != f"-I{INCLUDE}"]
        key = key_of([compiler.version, source, *headers, *relevant])
        return cached(key, lambda: compiler.compile(source, self.file.name, arch, macros))

    def load(self, device: int, threads: int, macros: Mapping[str, object], shared_bytes: int = 0) -> Launch:
        """The kernel, loaded on a device, with blocks of `threads` threads."""
        texts = {f"HIPWARD_{name}": str(value) for name, value in macros.items()}
        code = self.build(get_gfx(device), texts)
        with torch.cuda.device(device):
            function = driver().load(code, self.entry, shared_bytes)
        log.debug("%s of %s on device %d: %s", self.entry, self.file.name, device, texts)
        return Launch(function, device, threads, shared_bytes, self.signature, self.entry, overlaps=self.overlaps)
