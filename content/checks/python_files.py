"""Python files: the first line states how a file is tested."""

from __future__ import annotations

import difflib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checks.common import CONTENT, LessonError, expect, load, read_beside
from checks.scripts import execute

GATE = CONTENT / "02-baseline" / "01-precision-before-speed" / "gate.py"
MARKER = re.compile(r"^\s*# (anchor|end): (\S+)$", re.MULTILINE)


def check_python(path: Path) -> str:
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    expect(first.startswith("# test: "), "the first line must state how the file is tested, such as `# test: run`")
    check_markers(rest)
    how = first.removeprefix("# test: ")
    kind, _, argument = how.partition(" ")
    if kind == "figure":
        check_drawing(path, argument)
    else:
        expect(how in CHECKS, f"`{how}` is not one of {', '.join(CHECKS)}, figure NAME.svg")
        CHECKS[how](path)
    return how


def has_own_process(path: Path) -> bool:
    """Whether the check runs the file in a process of its own."""
    return path.read_text(encoding="utf-8").startswith(("# test: run", "# test: figure"))


def check_markers(source: str) -> None:
    opened: list[str] = []
    seen: set[str] = set()
    for kind, name in MARKER.findall(source):
        if kind == "anchor":
            expect(name not in seen, f"duplicate anchor {name}")
            seen.add(name)
            opened.append(name)
        else:
            expect(name in opened, f"anchor {name} ends before it begins")
            opened.remove(name)
    expect(not opened, f"anchor {', '.join(opened)} has no end")


def run(path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        execute(path, [], directory)


def check_drawing(path: Path, figure: str) -> None:
    """Compare the figure that a script prints with the file beside it."""
    expect(figure.endswith(".svg"), "name the file that the script prints: `# test: figure NAME.svg`")
    drawn = execute(path, [], path.parent).strip().splitlines()
    stored = read_beside(path.parent, figure).strip().splitlines()
    changed = [line for line in difflib.unified_diff(stored, drawn, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")]
    expect(drawn == stored, f"{figure} differs from the output of the script; write it again: {changed[:2]}")


def byte_compile(path: Path) -> None:
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except SyntaxError as error:
        raise LessonError(f"line {error.lineno}: {error.msg}") from error


def accepted(path: Path) -> None:
    reason = rejection(path)
    expect(reason is None, f"the gate rejected ModelNew: {reason}")


def rejected(path: Path) -> None:
    expect(rejection(path) is not None, "the gate accepted a wrong ModelNew")


def rejection(path: Path) -> str | None:
    """Run the snippet as the harness would; return why the gate rejects ModelNew, or None."""
    import torch

    snippet: Any = load(path)
    models = []
    for name in ("Model", "ModelNew"):
        if hasattr(snippet, name):
            torch.manual_seed(42)
            models.append(getattr(snippet, name)(*snippet.get_init_inputs()).eval())
    expect(models, "there is no class Model")
    with torch.no_grad():
        models[0](*snippet.get_inputs())
    if len(models) == 1:
        return None
    gate: Any = load(GATE)
    reason: str | None = gate.gate(models[0], models[1], snippet.get_inputs)
    return reason


CHECKS: dict[str, Callable[[Path], None]] = {
    "run": run,
    "snippet": accepted,
    "snippet rejected": rejected,
    "analyze": byte_compile,
    "compile": byte_compile,
}
