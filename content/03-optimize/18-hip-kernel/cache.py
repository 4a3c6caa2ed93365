# test: run
"""Shows when the JIT's cache builds: the compiler is replaced by a function that counts its calls."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hipward_kernels.jit.store import cached, folder, key_of

builds = 0


def compiler(source: str, arch: str) -> Callable[[], bytes]:
    def build() -> bytes:
        global builds
        builds += 1
        return f"code of {source!r} for {arch}".encode()

    return build


# anchor: load
def load(source: str, header: str, arch: str, version: str) -> bytes:
    key = key_of([version, source, header, f"--offload-arch={arch}", "-DTHREADS=256"])
    return cached(key, compiler(source, arch))
# end: load


def step(title: str, *parts: str) -> None:
    before = builds
    load(*parts)
    print(f"{title:28} {'built' if builds > before else 'from the cache'}")


with tempfile.TemporaryDirectory() as directory:
    os.environ["HIPWARD_JIT_CACHE"] = directory
    step("first call", "silu", "header", "gfx942", "clang 22")
    step("second call", "silu", "header", "gfx942", "clang 22")
    step("another architecture", "silu", "header", "gfx950", "clang 22")
    step("the header is edited", "silu", "header 2", "gfx942", "clang 22")
    step("the edit is undone", "silu", "header", "gfx942", "clang 22")
    step("the compiler is updated", "silu", "header", "gfx942", "clang 23")
    entries = [path for path in Path(folder()).iterdir() if path.suffix != ".lock"]
    for path in entries:
        path.write_bytes(path.read_bytes()[:-1])
    step("the file is cut off", "silu", "header", "gfx942", "clang 22")
