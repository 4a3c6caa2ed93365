"""`write` exercises: the files of one folder, and how they fit together.

The judge itself is run by `hipward_kernels.exercise`. Programs are in Python, or in HIP if there is a start.hip.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from checks.common import LessonError, expect

HOLE = re.compile(r"\s*(?:#|//) hole: (\S+)\s*")
END = re.compile(r"\s*(?:#|//) end: (\S+)\s*")
DOCSTRING = re.compile(r'"""[^"]*"""')
MIN_WRONG = 3
MIN_RIGHT = 1
HINTS = 3
# A shorter line of the solution, such as `x = 0`, may occur in a sentence by chance.
SHORTEST_LINE = 6


def is_exercise(folder: Path) -> bool:
    return (folder / "judge.py").is_file()


def suffix_of(folder: Path) -> str:
    """Suffix of the programs of an exercise."""
    return ".hip" if (folder / "start.hip").is_file() else ".py"


def exercise_of(path: Path) -> Path | None:
    """The exercise that a file belongs to, or None."""
    for folder in (path.parent, path.parent.parent):
        if is_exercise(folder):
            return folder
    return None


def check_file(path: Path) -> str:
    """Check one program of an exercise, or its judge."""
    source = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".py":
            compile(source, str(path), "exec")
    except SyntaxError as error:
        raise LessonError(f"line {error.lineno}: {error.msg}") from error
    folder = exercise_of(path)
    assert folder is not None
    if path.parent.name == "wrong":
        check_wrong(source, cases(folder))
    return "exercise"


def check_exercise(lesson: Path, block: dict[str, Any]) -> None:
    """Check the files and hints of a `write` block. `lesson` is the folder of the lesson."""
    name = block["dir"]
    expect(re.fullmatch(r"[a-z0-9-]+", name), f"`{name}` is not a folder name of a-z, 0-9 and -")
    folder = lesson / name
    suffix = suffix_of(folder)
    for file in (f"start{suffix}", f"solution{suffix}", "judge.py"):
        expect((folder / file).is_file(), f"there is no {name}/{file}")
    for kind, least in (("wrong", MIN_WRONG), ("right", MIN_RIGHT)):
        files = list((folder / kind).glob(f"*{suffix}"))
        expect(len(files) >= least, f"{name}/{kind}/ has {len(files)} answers; at least {least} are needed")
    expect(cases(folder), f"{name}/judge.py defines no case_… function")
    start = (folder / f"start{suffix}").read_text(encoding="utf-8")
    solution = (folder / f"solution{suffix}").read_text(encoding="utf-8")
    try:
        filled = holes(start, solution)
    except LessonError as error:
        raise LessonError(f"{name}: {error}") from error
    check_hints(block["hint"], filled)


def cases(folder: Path) -> set[str]:
    """Names of the cases of judge.py, each with its title as a docstring."""
    tree = ast.parse((folder / "judge.py").read_text(encoding="utf-8"))
    expect(ast.get_docstring(tree), "judge.py: begin with a docstring")
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("case_"):
            arguments = [argument.arg for argument in node.args.args]
            expect(arguments == ["answer", "random"], f"judge.py: {node.name} must take (answer, random)")
            expect(ast.get_docstring(node), f"judge.py: {node.name} needs a docstring, which is its title on the page")
            found.add(node.name)
    return found


def check_wrong(source: str, known: set[str]) -> None:
    lines = re.findall(r"^(?:#|//) fails:(.*)$", source, re.MULTILINE)
    fails = [name for line in lines for name in re.split(r"[,\s]+", line.strip())]
    begins = source.startswith(("# fails: ", "// fails: "))
    expect(begins and fails, "the first line must name the cases that fail: `# fails: case_…`, in HIP with `//`")
    for name in fails:
        expect(name in known, f"judge.py has no case {name}")


def holes(start: str, solution: str) -> dict[str, list[str]]:
    """The lines of the solution inside each hole of the start. Outside the holes both files must be the same.

    Comments, docstrings and blank lines outside the holes may differ. The solution may repeat the markers; it must do so
    if it fills a hole with nothing.
    """
    names, outside = split(start)
    expect(names, "the start has no hole; mark one with `# hole: NAME` and `# end: NAME`, in HIP with `//`")
    marked, around = split(solution)
    if marked:
        expect(marked == names, f"the holes of solution.py are {marked}, those of start.py {names}")
        for ours, theirs in zip(outside, around, strict=True):
            expect(ours == theirs, f"outside the holes, {difference(ours, theirs)}")
        return inside(solution)
    return match(names, outside, code_lines(solution))


def difference(start: list[str], solution: list[str]) -> str:
    for ours, theirs in zip(start, solution, strict=False):
        if ours != theirs:
            return f"start.py has `{ours.strip()}` and solution.py `{theirs.strip()}`"
    return "one of start.py and solution.py has more lines"


def split(source: str) -> tuple[list[str], list[list[str]]]:
    """Names of the holes, and the code lines before, between and after them."""
    names: list[str] = []
    outside: list[list[str]] = [[]]
    current = None
    for line in source.splitlines():
        if opened := HOLE.fullmatch(line):
            expect(current is None, f"hole {opened[1]} begins inside hole {current}")
            expect(opened[1] not in names, f"there are two holes {opened[1]}")
            current = opened[1]
            names.append(current)
        elif current is not None:
            if (ended := END.fullmatch(line)) and ended[1] == current:
                current = None
                outside.append([])
        elif is_code(line):
            outside[-1].append(code_of(line))
    expect(current is None, f"hole {current} has no `# end: {current}`")
    return names, outside


def inside(source: str) -> dict[str, list[str]]:
    """The code lines inside each marked hole."""
    filled: dict[str, list[str]] = {}
    current = None
    for line in source.splitlines():
        if opened := HOLE.fullmatch(line):
            current = opened[1]
            filled[current] = []
        elif current is not None and END.fullmatch(line):
            current = None
        elif current is not None and is_code(line):
            filled[current].append(code_of(line))
    return filled


def match(names: list[str], outside: list[list[str]], lines: list[str]) -> dict[str, list[str]]:
    """Find the code lines between the holes in a solution without markers."""
    before, after = outside[0], outside[-1]
    expect(lines[: len(before)] == before, f"before the first hole, {difference(before, lines)}")
    expect(not after or lines[-len(after) :] == after, "after the last hole, start.py and solution.py differ")
    position, end = len(before), len(lines) - len(after)
    filled = {}
    for name, following in zip(names, outside[1:-1], strict=False):
        starts = range(position + 1, end - len(following) + 1)
        found = next((at for at in starts if lines[at : at + len(following)] == following), None)
        if found is None:
            raise LessonError(f"solution.py lacks the lines of start.py after hole {name}, or fills the hole with nothing")
        filled[name] = lines[position:found]
        position = found + len(following)
    expect(position < end, f"solution.py does not fill hole {names[-1]}")
    filled[names[-1]] = lines[position:end]
    return filled


def code_lines(source: str) -> list[str]:
    return [code_of(line) for line in source.splitlines() if is_code(line)]


def is_code(line: str) -> bool:
    """Whether a line is neither blank nor a comment nor a docstring of one line."""
    text = line.strip()
    comment = text.startswith(("# ", "//")) or text == "#"
    return bool(text) and not comment and not DOCSTRING.fullmatch(text)


def code_of(line: str) -> str:
    """A line without trailing spaces and without a comment behind its code."""
    return re.sub(r"\s+(?:#|//) [^\"']*$", "", line).rstrip()


def check_hints(hints: list[dict[str, str]], filled: dict[str, list[str]]) -> None:
    expect(len(hints) == HINTS, f"an exercise needs {HINTS} hints: a question, the idea, and the line with one gap")
    for number, hint in enumerate(hints, 1):
        expect(hint.keys() == {"text"} and hint["text"].strip(), f"hint {number} needs a text and nothing else")
    for number, hint in enumerate(hints[:-1], 1):
        for line in (line.strip() for lines in filled.values() for line in lines):
            revealed = len(line) >= SHORTEST_LINE and line in hint["text"]
            expect(not revealed, f"hint {number} contains a line of the solution: `{line}`")
