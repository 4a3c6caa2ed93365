"""Failures of a compilation: a stable code, a message, what to do, and the line of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal["bad-request", "source-error", "no-compiler", "unknown-arch", "signature", "internal"]

MESSAGE_LIMIT = 4000


@dataclass(frozen=True)
class Failure:
    """Why there is no machine code."""

    code: Code
    message: str
    help: str
    line: int | None = None
    """Line of the source, from 1, if the compiler reports one."""


class CompileError(Exception):
    """Nothing can be compiled; `failure` states the reason."""

    def __init__(self, code: Code, message: str, help: str, line: int | None = None) -> None:  # noqa: A002
        super().__init__(message)
        self.failure = Failure(code, shortened(message), help, line)


def shortened(text: str) -> str:
    """`text`, truncated to `MESSAGE_LIMIT` characters."""
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
