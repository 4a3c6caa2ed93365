"""The pipe on which the runner's workers write their answers, one line of JSON each."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def from_arguments(description: str) -> Callable[[dict[str, Any]], None]:
    """The function that writes an answer to the descriptor of `--events-fd`.

    Programs that the worker starts do not inherit the descriptor.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--events-fd", type=int, required=True, help="descriptor for answers")
    options = parser.parse_args()
    fd = fcntl.fcntl(options.events_fd, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(options.events_fd)
    # Bound now, because code that the worker runs may replace functions of `os`.
    write, encode = os.write, json.JSONEncoder(separators=(",", ":")).encode

    def tell(answer: dict[str, Any]) -> None:
        data = memoryview(encode(answer).encode() + b"\n")
        while data:
            data = data[write(fd, data) :]

    return tell
