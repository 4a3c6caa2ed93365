"""Lessons: front matter, blocks, links, and what a page of each kind needs."""

from __future__ import annotations

import csv
import datetime
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.common import LessonError, expect, read_beside
from checks.data import result_ids
from checks.exercise import check_exercise
from checks.figure import check_figure
from checks.links import LINK, PATHS, is_page, kind_of, rules
from checks.python_files import MARKER
from checks.scripts import execute


@dataclass(frozen=True)
class Fence:
    """A fenced block: the words after the backticks, the body, and its first line number."""

    info: list[str]
    body: str
    line: int


# Set by `--allow-missing-pages`: links to lessons that do not exist are listed, but are no errors.
ALLOW_MISSING_PAGES = False
LESSON_SLASHES = 4


def split(path: Path) -> tuple[str, str]:
    """The front matter of a page, and its text."""
    parts = re.match(r"\+\+\+\n(.*?\n)\+\+\+\n(.*)", path.read_text(encoding="utf-8"), re.DOTALL)
    if parts is None:
        raise LessonError("the front matter must be between two lines of +++")
    return parts[1], parts[2]


def check_lesson(path: Path) -> str:
    front, body = split(path)
    first_line = front.count("\n") + 3
    errors: list[str] = []
    missing = set(check_front_matter(tomllib.loads(front), errors))
    fences = list(read_fences(body, first_line))
    for fence in fences:
        try:
            check_fence(path.parent, fence)
        except (LessonError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            reason = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, TypeError)) else error
            errors.append(f"line {fence.line}: {fence.info[0]}: {reason}")
    for number, line in enumerate(body.splitlines(), first_line):
        for link in LINK.findall(line):
            if link.startswith("/learn/") and link.count("/") == LESSON_SLASHES and not is_page(link):
                missing.add(link)
            elif not is_page(link):
                errors.append(f"line {number}: broken link {link}")
    if not ALLOW_MISSING_PAGES:
        errors += [f"broken link {link}" for link in sorted(missing)]
    kinds = {fence.info[0] for fence in fences}
    if kind_of(path.parent.parent) == "tutorial":
        if not kinds & {"try", "write"}:
            errors.append("a tutorial page needs an exercise: a `write` or `try` block")
        if not kinds & {"quiz", "predict"}:
            errors.append("a tutorial page needs a `quiz` or `predict` block")
    if errors:
        raise LessonError("\n      ".join(errors))
    later = f", not yet written: {' '.join(sorted(missing))}" if missing else ""
    return f"{len(fences)} blocks{later}"


def checked_on(front: dict[str, Any]) -> datetime.date | None:
    """The day on which a page was last checked; None if the front matter has no valid one."""
    try:
        return datetime.date.fromisoformat(front["checked_on"])
    except (KeyError, TypeError, ValueError):
        return None


def check_front_matter(front: dict[str, Any], errors: list[str]) -> Iterator[str]:
    """Add the errors of the front matter to `errors`; yield the pages among the prerequisites that do not exist."""
    required: dict[str, type] = {"title": str, "summary": str, "minutes": int, "goal": str}
    required |= {"prerequisites": list, "checked": list, "checked_on": str, "teaches": str, "paths": list}
    optional: dict[str, type] = {"keywords": list}
    for name in required.keys() - front.keys():
        errors.append(f"front matter: {name} is missing")
    for name in front.keys() - required.keys() - optional.keys():
        errors.append(f"front matter: unknown field {name}")
    for name, kind in (required | optional).items():
        if name in front and not isinstance(front[name], kind):
            errors.append(f"front matter: {name} must be of type {kind.__name__}")
            return
    if "checked_on" in front and not checked_on(front):
        errors.append("front matter: `checked_on` is the day of the last check, such as 2026-11-23")
    if not front.get("teaches", "one line").strip() or "\n" in front.get("teaches", ""):
        errors.append("front matter: `teaches` is one idea on one line")
    for name in front.get("paths", []):
        if name not in PATHS:
            errors.append(f"front matter: `{name}` in paths is not one of {', '.join(PATHS)}")
    for lesson in front.get("prerequisites", []):
        if not is_page(f"/learn/{lesson}/"):
            yield f"/learn/{lesson}/"


def read_fences(markdown: str, first_line: int) -> Iterator[Fence]:
    lines = enumerate(markdown.splitlines(), first_line)
    for number, line in lines:
        if not line.startswith("```"):
            continue
        body: list[str] = []
        for _, inside in lines:
            if inside == "```":
                break
            body.append(inside)
        else:
            raise LessonError(f"line {number}: the block has no end")
        yield Fence(line.removeprefix("```").split() or ["text"], "\n".join(body), number)


def check_fence(folder: Path, fence: Fence) -> None:
    kind, *rest = fence.info
    if kind in BLOCKS:
        required, optional = BLOCKS[kind]
        block = tomllib.loads(fence.body)
        missing, unknown = required - block.keys(), block.keys() - required - optional
        lacks = f"lacks {', '.join(sorted(missing))}"
        expect(not missing, lacks)
        expect(not unknown, f"has no key {', '.join(sorted(unknown))}")
        check_block(folder, kind, block)
        return
    attributes = dict(word.partition("=")[::2] for word in rest)
    unknown = attributes.keys() - {"file", "anchor", "before", "after"}
    expect(not unknown, f"has no attribute {', '.join(sorted(unknown))}; a code block takes file, anchor, before and after")
    expect(bool(attributes) != bool(fence.body), "a block has either a body or a file")
    for name in ("file", "before", "after"):
        if name in attributes:
            source = read_beside(folder, attributes[name])
            if "anchor" in attributes:
                marker = ("anchor", attributes["anchor"])
                expect(marker in MARKER.findall(source), f"no anchor {attributes['anchor']}")


BLOCKS: dict[str, tuple[set[str], set[str]]] = {
    "try": ({"file", "task", "present"}, {"no_findings", "absent", "solution"}),
    "write": ({"dir", "title", "task", "minutes", "hint"}, set()),
    "bench": ({"file", "title", "note"}, {"results"}),
    "quiz": ({"question", "option"}, set()),
    "predict": ({"question"}, {"option", "answer", "tolerance", "unit", "why"}),
    "claim": ({"claim", "verdict"}, {"evidence", "measured"}),
    "figure": ({"file", "title", "conclusion", "caption"}, {"table"}),
    "run": ({"command", "output", "recorded"}, {"exact"}),
}
VERDICTS = {"wrong", "depends", "holds", "unmeasured"}
MAX_TOLERANCE = 0.5


def check_block(folder: Path, kind: str, block: dict[str, Any]) -> None:
    for name in ("file", "solution"):
        if name in block:
            source = read_beside(folder, block[name])
            if kind == "bench":
                expect(source.startswith("# test: snippet"), f"{block[name]} is not a snippet")
    if kind == "try":
        for rule in block.get("no_findings", []):
            expect(rule in rules(), f"there is no rule {rule}")
        check_conditions(block)
    if kind == "write":
        expect(isinstance(block["minutes"], int), "minutes must be a number")
        check_exercise(folder, block)
    if kind == "bench":
        for row in block.get("results", []):
            expect(row in result_ids(), f"there is no row {row} in results.csv")
    if kind == "quiz":
        check_options(block["option"])
    if kind == "predict":
        check_prediction(block)
    if kind == "claim":
        check_claim(block)
    if kind == "figure":
        check_figure_block(folder, block)
    if kind == "run":
        check_transcript(folder, block)


def check_options(options: list[dict[str, Any]]) -> None:
    right = [option.get("correct", False) for option in options]
    expect(len(right) >= 2 and right.count(True) == 1, "a question needs several options, exactly one of them correct")
    expect(all(option["text"] and option["why"] for option in options), "each option needs text and why")
    unknown = {name for option in options for name in option} - {"text", "correct", "why"}
    expect(not unknown, f"an option has text, correct and why, not {', '.join(sorted(unknown))}")


def check_prediction(block: dict[str, Any]) -> None:
    if "option" in block:
        expect(block.keys() == {"question", "option"}, "a prediction has either options, or answer, unit and why")
        check_options(block["option"])
        return
    number = block.get("answer")
    expect(isinstance(number, (int, float)) and not isinstance(number, bool), "answer must be a number, or add options")
    expect(isinstance(block.get("why"), str) and block["why"], "the answer needs a `why`")
    expect(0 <= block.get("tolerance", 0.05) <= MAX_TOLERANCE, f"tolerance is relative: from 0 to {MAX_TOLERANCE}")
    expect(isinstance(block.get("unit", ""), str), "unit must be a text")


def check_figure_block(folder: Path, block: dict[str, Any]) -> None:
    expect(block["file"].endswith(".svg"), "the file of a figure must be an .svg")
    for name in ("title", "conclusion", "caption"):
        expect(isinstance(block[name], str) and block[name].strip(), f"{name} is empty")
    try:
        check_figure(folder / block["file"])
    except LessonError as error:
        raise LessonError(f"{block['file']}: {error}") from error
    if "table" in block:
        rows = list(csv.reader(read_beside(folder, block["table"]).splitlines()))
        expect(len(rows) > 1, f"{block['table']} needs a header and rows")
        expect(len({len(row) for row in rows}) == 1, f"the rows of {block['table']} differ in length")


def check_transcript(folder: Path, block: dict[str, Any]) -> None:
    recorded = read_beside(folder, block["output"])
    expect(recorded.strip(), f"{block['output']} is empty")
    expect(block["recorded"].strip(), "`recorded` must state when and where the output was recorded")
    if not block.get("exact", False):
        return
    words = shlex.split(block["command"])
    expect(words[:1] == ["python"], "only a command that begins with `python` can be `exact`")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory) / "lesson"
        shutil.copytree(folder, work)
        printed = execute(work / words[1], words[2:], work)
    expect(printed == recorded, f"{block['output']} differs from the output of `{block['command']}`; record it again")


def check_conditions(exercise: dict[str, Any]) -> None:
    """Checks the fields of conditions. The analyzer parses what they match."""
    for condition in exercise["present"] + exercise.get("absent", []):
        missing = {"title", "message", "match"} - condition.keys()
        expect(not missing, f"a condition lacks {missing}")
        expect(condition["title"].endswith("."), "the title of a condition must be a sentence")


def check_claim(claim: dict[str, Any]) -> None:
    """Checks that a claim names its source and the evidence that its verdict requires."""
    expect(claim["verdict"] in VERDICTS, f"the verdict must be one of {', '.join(sorted(VERDICTS))}")
    needs_evidence = claim["verdict"] != "unmeasured"
    expect(("evidence" in claim) == needs_evidence, "evidence is required, unless the verdict is unmeasured")
    for name in claim.keys() & {"claim", "evidence"}:
        statement = claim[name]
        fields = {"text", "source", "url", "quote"}
        expect(statement.keys() <= fields, f"{name} may only have {', '.join(sorted(fields))}")
        expect(statement.get("text") and statement.get("source"), f"{name} needs a text and a source")
        expect(statement.get("url", "https://").startswith("https://"), "the url must begin with https://")
    stated = claim["claim"]
    is_quoted = stated["text"].startswith(("“", '"'))
    expect(not is_quoted or stated.get("quote"), "a paraphrase must not be in quotation marks")
