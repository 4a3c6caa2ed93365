"""The result of an answer: what the command line prints with `--json` and the worker sends, one JSON object per line.

{"status": "not_yet", "cases": [{"name": "case_tail", "title": "A row shorter than the block", "status": "failed",
 "message": "the result[3] is 0, expected 1.25 (off by 1.25, allowed 1e-06)", "line": 14, "notes": []}],
 "message": null, "line": null, "hints": ["The last block loads beyond the row."], "unfilled": [],
 "output": "", "output_truncated": false, "seconds": 0.21, "seed": 7, "judge": "0f3a…"}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["solved", "not_yet", "did_not_load", "unavailable", "timeout"]
"""`solved`: every case passed. `not_yet`: a case failed, or the process ended early. `did_not_load`: importing the file
raised. `unavailable`: no case failed, and at least one cannot be checked on this machine. `timeout`: the time limit."""

CaseStatus = Literal["passed", "failed", "unavailable", "not_run"]

MESSAGE_LIMIT = 600
"""Characters of a message."""
OUTPUT_LIMIT = 8192
"""Bytes of the learner's output that a result contains."""
MOST_CASES = 100
MOST_NOTES = 5
"""Notes of a case."""


@dataclass(frozen=True)
class Note:
    """A finding of the emulator about a HIP answer, such as a race."""

    line: int | None
    """Line of the learner's file, from 1; None if the machine code has none."""
    message: str


@dataclass(frozen=True)
class Case:
    """The result of one case of a judge."""

    name: str
    """Name of the function, `case_…`."""
    title: str
    """First line of its docstring."""
    status: CaseStatus = "not_run"
    message: str | None = None
    """Why it failed, or why it cannot be checked."""
    line: int | None = None
    """The line of the learner's file, from 1, that raised or stored a wrong value; None if it is not known."""
    notes: list[Note] = field(default_factory=list)
    """HIP answers: what the emulator found, whether the case passed or not."""


@dataclass(frozen=True)
class Result:
    """The result of one answer."""

    status: Status
    cases: list[Case] = field(default_factory=list)
    """All cases in the order of the judge; empty if the judge itself could not be loaded."""
    message: str | None = None
    """Why the file did not load, could not be checked, or was stopped."""
    line: int | None = None
    """Line of the learner's file that `message` is about."""
    hints: list[str] = field(default_factory=list)
    """Messages of the wrong answers that fail in exactly these cases."""
    unfilled: list[str] = field(default_factory=list)
    """Names of the holes that still have the content of start.py."""
    output: str = ""
    """The beginning of what the answer printed."""
    output_truncated: bool = False
    seconds: float = 0.0
    """Wall time, without the start of the interpreter."""
    seed: int = 0
    """The seed that reproduces this run."""
    judge: str = ""
    """Hash of judge.py: 16 hexadecimal digits of its SHA-256."""

    @property
    def failed(self) -> list[str]:
        """Names of the cases that failed."""
        return [case.name for case in self.cases if case.status == "failed"]


def shortened(text: str) -> str:
    """`text`, truncated to `MESSAGE_LIMIT` characters."""
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
