"""Checks the lessons: `python content/check.py [PATH…]`, from any directory. Exit code 1 on an error.

The code that lessons show is tested here. The first line of every Python file below content/ states how:

    # test: run               executed on the CPU in an empty directory; must exit with 0
    # test: snippet           a benchmark snippet; ModelNew, if there is one, must pass the gate
    # test: snippet rejected  a deliberately wrong one; the gate must reject ModelNew
    # test: analyze           needs hardware or a library that may be missing; compiled, not run
    # test: compile           the same, for files that no rule analyzes

The gate is the one from the lesson on precision. The script also checks the front matter, the files and
anchors that a lesson includes, its blocks, its internal links, and the rows of results.csv. It prints
one line per file. It does not check the statements of a lesson.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

CONTENT = Path(__file__).resolve().parent
GATE = CONTENT / "02-baseline" / "01-precision-before-speed" / "gate.py"
RESULT_COLUMNS = ["id", "op", "shape", "variant", "dtype", "device", "torch", "triton"]
RESULT_COLUMNS += ["median_us", "low_us", "high_us", "percent_of_copy", "conditions", "source"]
LINK = re.compile(r"\]\((/[^)\s]*)\)")
REFERENCE_LINK = re.compile(r"/reference/([a-z0-9-]+)/")
RULE_LINK = re.compile(r"/rules/([a-z0-9-]+)/")
RULE = re.compile(r'^ +"HW\d{3}" "([a-z0-9-]+)" \{$', re.MULTILINE)
MARKER = re.compile(r"^\s*# (anchor|end): (\S+)$", re.MULTILINE)


class LessonError(Exception):
    """An error in a file, with a message for the author."""


def expect(condition: object, message: str) -> None:
    if not condition:
        raise LessonError(message)


# Python files


def check_python(path: Path) -> str:
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    expect(first.startswith("# test: "), "the first line must state how the file is tested")
    check_markers(rest)
    how = first.removeprefix("# test: ")
    expect(how in CHECKS, f"`{how}` is not one of {', '.join(CHECKS)}")
    CHECKS[how](path)
    return how


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
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, str(path)],
                cwd=directory,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LessonError("timed out after five minutes") from error
    output = (done.stderr or done.stdout).strip().splitlines()
    expect(done.returncode == 0, f"exited with {done.returncode}: {output[-1:]}")


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


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    expect(spec is not None and spec.loader is not None, "cannot be imported")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # so that dataclasses and inspect find it
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


CHECKS: dict[str, Callable[[Path], None]] = {
    "run": run,
    "snippet": accepted,
    "snippet rejected": rejected,
    "analyze": byte_compile,
    "compile": byte_compile,
}


# Lessons


@dataclass(frozen=True)
class Fence:
    """A fenced block: the words after the backticks, the body, and its first line number."""

    info: list[str]
    body: str
    line: int


def check_lesson(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    parts = re.match(r"\+\+\+\n(.*?\n)\+\+\+\n(.*)", text, re.DOTALL)
    if parts is None:
        raise LessonError("the front matter must be between two lines of +++")
    front, body = parts.groups()
    check_front_matter(tomllib.loads(front))
    fences = list(read_fences(body, first_line=front.count("\n") + 3))
    for fence in fences:
        try:
            check_fence(path.parent, fence)
        except (LessonError, tomllib.TOMLDecodeError) as error:
            raise LessonError(f"line {fence.line}: {error}") from error
    for link in LINK.findall(body):
        expect(is_page(link), f"broken link {link}")
    kinds = [fence.info[0] for fence in fences]
    for kind in ("try", "quiz", "claim"):
        expect(kind in kinds, f"a lesson needs at least one {kind}")
    return f"{len(fences)} blocks"


def check_front_matter(front: dict[str, Any]) -> None:
    fields = {"title": str, "summary": str, "minutes": int, "goal": str}
    fields |= {"prerequisites": list, "checked": list}
    expect(front.keys() == fields.keys(), f"the front matter must have {', '.join(fields)}")
    for name, kind in fields.items():
        expect(isinstance(front[name], kind), f"{name} must be of type {kind.__name__}")
    for lesson in front["prerequisites"]:
        expect(is_page(f"/learn/{lesson}/"), f"there is no lesson {lesson}")


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
        expect(not missing and not unknown, f"{kind}: missing {missing}, unknown {unknown}")
        check_block(folder, kind, block)
        return
    attributes = dict(word.partition("=")[::2] for word in rest)
    unknown = attributes.keys() - {"file", "anchor", "before", "after"}
    expect(not unknown, f"unknown attributes {unknown}")
    expect(bool(attributes) != bool(fence.body), "a block has either a body or a file")
    for name in ("file", "before", "after"):
        if name in attributes:
            source = read_beside(folder, attributes[name])
            if "anchor" in attributes:
                marker = ("anchor", attributes["anchor"])
                expect(marker in MARKER.findall(source), f"no anchor {attributes['anchor']}")


BLOCKS: dict[str, tuple[set[str], set[str]]] = {
    "try": ({"file", "task", "present"}, {"no_findings", "absent", "solution"}),
    "bench": ({"file", "title", "note"}, {"results"}),
    "quiz": ({"question", "option"}, set()),
    "claim": ({"claim", "verdict"}, {"evidence", "measured"}),
}
VERDICTS = {"wrong", "depends", "holds", "unmeasured"}


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
    if kind == "bench":
        for row in block.get("results", []):
            expect(row in result_ids(), f"there is no row {row} in results.csv")
    if kind == "quiz":
        right = [option["correct"] for option in block["option"]]
        expect(len(right) >= 2 and right.count(True) == 1, "a quiz needs several options, exactly one of them correct")
        expect(all(option["text"] and option["why"] for option in block["option"]), "each option needs text and why")
    if kind == "claim":
        check_claim(block)


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


def read_beside(folder: Path, name: str) -> str:
    path = folder / name
    expect(path.is_file() and path.parent == folder, f"there is no {name} in the lesson's folder")
    return path.read_text(encoding="utf-8")


# Link targets


def is_page(link: str) -> bool:
    page = link.partition("#")[0]
    if page in ("/", "/playground/", "/benchmark/", "/rules/", "/ops/", "/models/", "/isa/", "/reference/"):
        return True
    if table := REFERENCE_LINK.fullmatch(page):
        return (CONTENT / "reference" / f"{table[1]}.toml").is_file()
    if rule := RULE_LINK.fullmatch(page):
        return rule[1] in rules()
    return page in {lesson_page(path) for path in CONTENT.glob("*/*/lesson.md")}


def lesson_page(path: Path) -> str:
    """`01-port/02-vendor-libraries/lesson.md` is the page `/learn/port/vendor-libraries/`."""
    part, lesson = (folder.partition("-")[2] for folder in path.relative_to(CONTENT).parts[:2])
    return f"/learn/{part}/{lesson}/"


def rules() -> set[str]:
    """Names of the rules, from their declarations."""
    analyzer = CONTENT.parent / "analyzer"
    return {name for path in analyzer.glob("*/src/rules/*/*.rs") for name in RULE.findall(path.read_text())}


def result_ids() -> set[str]:
    return {row["id"] for row in read_results()}


def read_results() -> list[dict[str, str]]:
    with (CONTENT / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Data


def check_results(path: Path) -> str:
    rows = read_results()
    expect(rows and list(rows[0]) == RESULT_COLUMNS, f"the columns must be {RESULT_COLUMNS}")
    expect(len({row["id"] for row in rows}) == len(rows), "duplicate id")
    for row in rows:
        empty = [name for name in RESULT_COLUMNS if not row[name] and name != "percent_of_copy"]
        expect(not empty, f"{row['id']} lacks {', '.join(empty)}")
        check_measured(row)
    return f"{len(rows)} rows"


def check_measured(row: dict[str, str]) -> None:
    """Checks a row against the results file that it names as its source."""
    name = f"{row['op']} {row['shape']} {row['variant']}"
    source = CONTENT.parent / row["source"]
    expect(source.is_file(), f"{name}: there is no results file {row['source']}")
    of = {"op": row["op"].lower(), "shape": row["shape"].replace("×", "x")}
    of |= {column: row[column] for column in ("variant", "dtype", "device", "torch", "triton")}
    found = [each for each in measured(source) if of.items() <= each.items()]
    columns = {"median_us": "median_ms", "low_us": "ci_low_ms", "high_us": "ci_high_ms"}
    same = [
        each
        for each in found
        if all(row[ours] == f"{1000 * float(each[theirs]):.4g}" for ours, theirs in columns.items())
        and row["percent_of_copy"] == f"{100 * float(each['copy_share']):.0f}"
        and each["date"][:10] in row["conditions"]
    ]
    expect(same, f"{name} differs from its source")


def measured(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_part(path: Path) -> str:
    part = tomllib.loads(path.read_text(encoding="utf-8"))
    expect(part.keys() == {"title", "summary"}, "a part must have a title and a summary")
    return "part"


def check_reference(path: Path) -> str:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    if "generate" in table:
        # Columns, rows and sources come from the table of GPU facts, which has tests of its own.
        expect(table.keys() == {"title", "summary", "generate"}, "a generated table must have title, summary, generate")
        expect(table["generate"] == "gpus", f"there is no generated table {table['generate']}")
        return "generated"
    fields = {"title", "summary", "columns", "rows", "sources"}
    expect(table.keys() == fields, f"a table must have {', '.join(sorted(fields))}")
    for row in table["rows"]:
        expect(len(row) == len(table["columns"]), f"the row of {row[0]} has {len(row)} cells, not {len(table['columns'])}")
    if "Rule" in table["columns"]:
        column = table["columns"].index("Rule")
        for row in table["rows"]:
            expect(row[column] in {""} | rules(), f"there is no rule {row[column]}")
    return f"{len(table['rows'])} rows"


def checks_of(path: Path) -> Callable[[Path], str] | None:
    if path == Path(__file__).resolve() or path.name == "ruff.toml":
        return None
    if path.suffix == ".py":
        return check_python
    by_name = {"lesson.md": check_lesson, "part.toml": check_part, "results.csv": check_results}
    if path.name in by_name:
        return by_name[path.name]
    return check_reference if path.parent.name == "reference" else None


def main(arguments: list[str]) -> int:
    roots = [Path(argument).resolve() for argument in arguments] or [CONTENT]
    paths = sorted(
        path
        for path in CONTENT.rglob("*")
        if path.is_file() and any(path == root or root in path.parents for root in roots)
    )
    errors = 0
    for path in paths:
        check = checks_of(path)
        if check is None:
            continue
        try:
            status = f"ok    {check(path)}"
        except LessonError as error:
            errors += 1
            status = f"ERROR {error}"
        except Exception as error:  # noqa: BLE001 - a lesson's code may raise anything
            errors += 1
            status = f"ERROR {type(error).__name__}: {error}"
        print(f"{path.relative_to(CONTENT)!s:60} {status}", flush=True)
    print(f"{errors} errors" if errors else "no errors")
    return int(errors > 0)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
