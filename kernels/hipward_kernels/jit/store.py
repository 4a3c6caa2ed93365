"""Disk cache of machine code, safe for concurrent processes.

The key is a hash of the source, the headers, the macros, the options, the compiler's version and the architecture, so
an entry is never stale. An entry has a checksum of its content and is renamed atomically: a truncated or damaged one is
rebuilt. Processes that need the same entry wait for the one that builds it.

* `HIPWARD_JIT_CACHE`: the directory, instead of `~/.cache/hipward/jit`.
* `HIPWARD_JIT_REBUILD=1`: rebuilds existing entries, once in each process.
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
    """A hash of `parts` that depends on their boundaries: `["ab", "c"]` differs from `["a", "bc"]`."""
    hash_ = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        hash_.update(len(content).to_bytes(8, "little"))
        hash_.update(content)
    return hash_.hexdigest()[:40]


def folder() -> Path:
    """The directory of the cache."""
    return Path(switches.value("HIPWARD_JIT_CACHE", "") or Path.home() / ".cache/hipward/jit")


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """The entry of `key`; `build` creates it if it is missing, damaged or has to be rebuilt.

    If the directory is not writable, as in a sandbox, the code is built and not cached.
    """
    path = folder() / key
    if (content := _read(path, key)) is not None:
        return content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_suffix(".lock").open("w")
    except OSError as error:
        log.warning("machine code is not cached: %s", error)
        return build()
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            # Some network file systems have no locks. Then two processes may build the same entry; both results are
            # complete.
            log.warning("cannot wait for other processes that build %s: %s", path, error)
        # Another process may have built it while this one waited.
        if (content := _read(path, key)) is not None:
            return content
        log.info("building %s", path)
        content = build()
        try:
            _write(path, content)
        except OSError as error:
            log.warning("machine code is not cached: %s", error)
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
        log.warning("%s is damaged and will be rebuilt", path)
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
