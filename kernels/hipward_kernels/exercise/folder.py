"""Reads the folder of an exercise."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HOLE = re.compile(r"^\s*(?:#|//) (hole|end): (\S+)\s*$")
_HEADER = re.compile(r"^(?:#|//) ?(fails|message): *(.*)$")
PYTHON, HIP = "py", "hip"
ARCH = "gfx942"
"""The target for which HIP answers are compiled."""
_COMMENTS = {PYTHON: "#", HIP: "//"}
"""Begin of a comment, by the suffix of an exercise's programs."""


class ExerciseError(Exception):
    """The folder is not a valid exercise; the text is for its author."""


@dataclass(frozen=True)
class Wrong:
    """A wrong answer."""

    path: Path
    fails: frozenset[str]
    """Names of the cases that fail."""
    message: str | None
    """Shown to a learner whose answer fails in exactly these cases."""


@dataclass(frozen=True)
class Exercise:
    """An exercise, read from its folder."""

    folder: Path
    suffix: str
    """Suffix of its programs: `py`, or `hip` for kernels that the emulator executes."""
    cases: tuple[tuple[str, str], ...]
    """Name and title of each case, in the order of judge.py."""
    right: tuple[Path, ...]
    wrong: tuple[Wrong, ...]
    judge_hash: str

    @property
    def judge(self) -> Path:
        """The judge's file."""
        return self.folder / "judge.py"

    @property
    def start(self) -> Path:
        """What the learner begins with."""
        return self.folder / f"start.{self.suffix}"

    @property
    def solution(self) -> Path:
        """The author's answer."""
        return self.folder / f"solution.{self.suffix}"

    def hints(self, failed: set[str]) -> list[str]:
        """Messages of the wrong answers that fail in exactly the cases `failed`.

        For a HIP answer only if there is one: it fails in many cases for many reasons, which the emulator reports.
        """
        found = [wrong.message for wrong in self.wrong if wrong.message and wrong.fails == failed]
        distinct = list(dict.fromkeys(found))
        return [] if self.suffix == HIP and len(distinct) > 1 else distinct

    def unfilled(self, text: str) -> list[str]:
        """Names of the holes of `text` that have the content of the start."""
        try:
            given, original = holes(text), holes(_read(self.start))
        except ExerciseError:
            return []
        return [name for name in original if given.get(name, "").split() == original[name].split()]


def read(folder: Path) -> Exercise:
    """Reads an exercise without running anything.

    Raises:
        ExerciseError: A file is missing or wrong.
    """
    judge = folder / "judge.py"
    text = _read(judge)
    cases = _cases(text)
    names = {name for name, _ in cases}
    suffix = HIP if (folder / "start.hip").is_file() else PYTHON
    wrong = tuple(_wrong(path, names) for path in sorted((folder / "wrong").glob(f"*.{suffix}")))
    return Exercise(
        folder=folder,
        suffix=suffix,
        cases=cases,
        right=tuple(sorted((folder / "right").glob(f"*.{suffix}"))),
        wrong=wrong,
        judge_hash=hashlib.sha256(judge.read_bytes()).hexdigest()[:16],
    )


def holes(text: str) -> dict[str, str]:
    """The content of each hole of an answer.

    Raises:
        ExerciseError: A mark has no counterpart, or a name occurs twice.
    """
    found: dict[str, str] = {}
    name, lines = None, []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = _HOLE.match(line)
        if not mark:
            lines.append(line)
        elif mark[1] == "hole":
            if name or mark[2] in found:
                raise ExerciseError(f"line {number}: hole {mark[2]} is inside another hole or occurs twice")
            name, lines = mark[2], []
        else:
            if name != mark[2]:
                raise ExerciseError(f"line {number}: there is no open hole {mark[2]}")
            found[mark[2]], name = "".join(lines), None
    if name:
        raise ExerciseError(f"hole {name} has no `# end: {name}`")
    return found


def filled_holes(start: str, solution: str, suffix: str = PYTHON) -> dict[str, str]:
    """The content of each hole of `start` in `solution`, which may lack the marks. `suffix` is that of the files.

    Raises:
        ExerciseError: The files have different holes, or different code outside of them.
    """
    names = list(holes(start))
    if not names:
        comment = _COMMENTS[suffix]
        raise ExerciseError(
            f"start.{suffix} has no hole: mark the lines to write with `{comment} hole: NAME` … `{comment} end: NAME`"
        )
    marked = holes(solution)
    if marked:
        if list(marked) != names:
            raise ExerciseError(f"start.{suffix} has the holes {names}, solution.{suffix} {list(marked)}")
        return marked
    lines = solution.splitlines(keepends=True)
    comment = _COMMENTS[suffix]
    code = [(number, text) for number, line in enumerate(lines) if (text := _code(line, comment))]
    position, found = 0, {}
    for name, segment in zip([None, *names], _segments(start, comment), strict=True):
        # The last segment is at the end of the file, every other one as early as possible.
        last = name == names[-1]
        places = range(len(code) - len(segment), len(code)) if last and segment else range(position, len(code) + 1)
        place = next((at for at in places if [text for _, text in code[at : at + len(segment)]] == segment), None)
        if last and not segment:
            place = len(code)
        if place is None or place < position or (name is None and place > 0):
            where = name or "its beginning"
            raise ExerciseError(f"solution.{suffix} differs from start.{suffix} outside the holes, after {where}")
        if name is not None:
            first = code[position - 1][0] + 1 if position else 0
            found[name] = "".join(lines[first : code[place][0] if place < len(code) else len(lines)])
        position = place + len(segment)
    return found


def _segments(text: str, comment: str) -> list[list[str]]:
    """The code lines before, between and after the holes."""
    segments: list[list[str]] = [[]]
    inside = False
    for line in text.splitlines():
        if mark := _HOLE.match(line):
            inside = mark[1] == "hole"
            if not inside:
                segments.append([])
        elif not inside and (code := _code(line, comment)):
            segments[-1].append(code)
    return segments


def _code(line: str, comment: str) -> str:
    """A line without a comment and trailing spaces; empty if it has no code."""
    if line.lstrip().startswith(comment):
        return ""
    return re.sub(rf"\s+{comment} [^\"']*$", "", line).rstrip()


def with_hole(text: str, name: str, content: str) -> str:
    """`text` with the content of one hole replaced."""
    result, inside = [], False
    for line in text.splitlines(keepends=True):
        mark = _HOLE.match(line)
        if mark and mark[2] == name:
            inside = mark[1] == "hole"
            result.append(line)
            if inside:
                result.append(content)
        elif not inside:
            result.append(line)
    return "".join(result)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExerciseError(f"{path.name} cannot be read: {error}") from error


def _cases(text: str) -> tuple[tuple[str, str], ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ExerciseError(f"judge.py cannot be parsed: {error}") from error
    if not ast.get_docstring(tree):
        raise ExerciseError("judge.py has no docstring")
    cases = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("case_"):
            title = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            if not title:
                raise ExerciseError(f"judge.py: {node.name} has no docstring; its first line is the title on the page")
            cases.append((node.name, title))
    if not cases:
        raise ExerciseError("judge.py has no function named `case_…`")
    if len({name for name, _ in cases}) < len(cases):
        raise ExerciseError("judge.py defines a case twice")
    return tuple(cases)


def _wrong(path: Path, cases: set[str]) -> Wrong:
    fails: set[str] = set()
    message: list[str] = []
    for line in _read(path).splitlines():
        if not line.startswith(("#", "//")):
            break
        header = _HEADER.match(line)
        if header and header[1] == "fails":
            fails |= {name for name in re.split(r"[,\s]+", header[2]) if name}
        elif header:
            message.append(header[2].strip())
        elif message and line.startswith(("#  ", "//  ")):
            message.append(line.lstrip("#/").strip())
    if not fails:
        raise ExerciseError(
            f"wrong/{path.name} names no case: begin it with `{_COMMENTS[path.suffix[1:]]} fails: case_…`"
        )
    if unknown := sorted(fails - cases):
        raise ExerciseError(f"wrong/{path.name} names {', '.join(unknown)}; judge.py has {', '.join(sorted(cases))}")
    return Wrong(path, frozenset(fails), " ".join(message) or None)
