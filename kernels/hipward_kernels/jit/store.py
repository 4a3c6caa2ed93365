"""Compiled code on disk, keyed by everything it depends on, and safe with several processes at once.

A key is a hash of the source, the headers, the macros, the options, the compiler's version and the architecture: a
change of any is another file, so nothing stale is ever found. A file carries a checksum of its content and is put in
place by an atomic rename: one that a crash cut short or a disk damaged is built again. Processes that want the same
file wait for one.

* `HIPWARD_JIT_CACHE`: the folder, instead of `~/.cache/hipward/jit`.
* `HIPWARD_JIT_REBUILD=1`: builds again what is there, once in each process.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.dispatch import switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)

CHECKSUM = hashlib.sha256().digest_size

_rebuilt: set[str] = set()


def key_of(parts: Iterable[str | bytes]) -> str:
    """A hash of `parts`, where each one's end matters: `["ab", "c"]` is not `["a", "bc"]`."""
    hash_ = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        hash_.update(len(content).to_bytes(8, "little"))
        hash_.update(content)
    return hash_.hexdigest()[:40]


def folder() -> Path:
    """Where compiled code is kept."""
    return Path(switches.value("HIPWARD_JIT_CACHE", "") or Path.home() / ".cache/hipward/jit")


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """The content kept under `key`; `build` makes it where it is missing, damaged or to be rebuilt.

    Where nothing can be written, as in a sandbox, it is built and not kept.
    """
    path = folder() / key
    if (content := _read(path, key)) is not None:
        return content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_suffix(".lock").open("w")
    except OSError as error:
        log.warning("compiled code is not kept: %s", error)
        return build()
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            # Some network file systems have no locks; then two processes build the same, and both files are whole.
            log.warning("not waiting for others that build %s: %s", path, error)
        # Another process may have built it while this one waited.
        if (content := _read(path, key)) is not None:
            return content
        log.info("building %s", path)
        content = build()
        try:
            _write(path, content)
        except OSError as error:
            log.warning("compiled code is not kept: %s", error)
        _rebuilt.add(key)
    return content


def _read(path: Path, key: str) -> bytes | None:
    if switches.on("HIPWARD_JIT_REBUILD") and key not in _rebuilt:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    checksum, content = data[:CHECKSUM], data[CHECKSUM:]
    if hashlib.sha256(content).digest() != checksum:
        log.warning("%s is damaged and is built again", path)
        return None
    return content


def _write(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
