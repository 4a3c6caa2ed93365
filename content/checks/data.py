"""The data files: recorded results, parts, coverage, reference tables and the glossary."""

from __future__ import annotations

import csv
import re
import tomllib
from functools import cache
from pathlib import Path

from checks.common import CONTENT, expect
from checks.links import KINDS, is_page, rules

RESULT_COLUMNS = ["id", "op", "shape", "variant", "dtype", "device", "torch", "triton"]
RESULT_COLUMNS += ["median_us", "low_us", "high_us", "percent_of_copy", "conditions", "source"]
CLAIM_FIELDS = {"seed", "statement", "verdict", "measured", "source", "url", "lesson"}
VERDICTS = {"holds", "depends", "wrong", "unmeasured"}
ROW_ID = re.compile(r"[0-4]:[1-9]\d*")


def result_ids() -> set[str]:
    return {row["id"] for row in read_results()}


@cache
def read_results() -> list[dict[str, str]]:
    return measured(CONTENT / "results.csv")


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
    expect({"title", "summary"} <= part.keys(), "a part must have a title and a summary")
    unknown = part.keys() - {"title", "summary", "kind"}
    expect(not unknown, f"unknown fields {', '.join(sorted(unknown))}")
    kind = part.get("kind", "tutorial")
    expect(kind in KINDS, f"the kind must be one of {', '.join(KINDS)}, not {kind}")
    return str(kind)


def check_coverage(path: Path) -> str:
    """Check the coverage.toml of a part, or of the reference tables: which page teaches a row whole."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    expect(table.keys() == {"rows"}, "a coverage.toml must have one table, [rows]")
    pages = {lesson.parent.name.partition("-")[2] for lesson in path.parent.glob("*/lesson.md")}
    if path.parent == CONTENT / "reference":
        pages = {table.stem for table in path.parent.glob("*.toml")} - {"coverage"}
    known = coverage_rows()
    for row, slug in table["rows"].items():
        expect(ROW_ID.fullmatch(row), f"`{row}` is not the id of a row, such as 0:12")
        expect(isinstance(slug, str) and slug in pages, f"row {row}: this part has no page {slug}")
        expect(not known or row in known, f"row {row} is not in content/coverage.toml")
    return f"{len(table['rows'])} rows"


def check_coverage_list(path: Path) -> str:
    """Check content/coverage.toml, which lists all rows by id and title."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    expect(tables.keys() == {"rows", "not_applicable"}, "the tables must be [rows] and [not_applicable]")
    for table in tables.values():
        for row, title in table.items():
            expect(ROW_ID.fullmatch(row), f"`{row}` is not the id of a row, such as 0:12")
            expect(isinstance(title, str) and title, f"row {row} needs a title")
    twice = tables["rows"].keys() & tables["not_applicable"].keys()
    expect(not twice, f"{sorted(twice)} are in both tables")
    return f"{len(tables['rows'])} rows"


@cache
def coverage_rows() -> frozenset[str]:
    path = CONTENT / "coverage.toml"
    if not path.is_file():
        return frozenset()
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return frozenset(row for table in tables.values() for row in table)


def check_reference(path: Path) -> str:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    keywords = table.pop("keywords", [])
    expect(all(isinstance(word, str) and word for word in keywords), "keywords must be a list of words and phrases")
    if "generate" in table:
        # Columns, rows and sources come from the table of GPU facts, which has tests of its own.
        expect(table.keys() == {"title", "summary", "generate"}, "a generated table must have title, summary, generate")
        expect(table["generate"] == "gpus", f"there is no generated table {table['generate']}")
        return "generated"
    fields = {"title", "summary", "columns", "rows", "sources"}
    table.setdefault("sources", [])
    expect(table.keys() == fields, f"a table must have {', '.join(sorted(fields - {'sources'}))}, and may have sources")
    for row in table["rows"]:
        expect(len(row) == len(table["columns"]), f"the row of {row[0]} has {len(row)} cells, not {len(table['columns'])}")
    if "Rule" in table["columns"]:
        column = table["columns"].index("Rule")
        for row in table["rows"]:
            expect(row[column] in {""} | rules(), f"there is no rule {row[column]}")
    return f"{len(table['rows'])} rows"


def check_claims(path: Path) -> str:
    """Check the claims of porting guides; the comment in the file explains the fields."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    expect(table.keys() == {"title", "summary", "document", "claim"}, "the file must have title, summary, document, claim")
    for document in table["document"]:
        expect(document.keys() == {"id", "title", "url"}, "a document must have id, title, url")
    documents = {str(document["id"]) for document in table["document"]}
    known = coverage_rows()
    seen: set[str] = set()
    for claim in table["claim"]:
        name = claim.get("seed", "?")
        expect(claim.keys() == CLAIM_FIELDS, f"{name}: a claim must have {', '.join(sorted(CLAIM_FIELDS))}")
        expect(name in known and name.partition(":")[0] in documents, f"{name} is not the id of a row in coverage.toml")
        expect(name not in seen, f"{name} is in the file twice")
        seen.add(name)
        expect(claim["verdict"] in VERDICTS, f"{name}: the verdict must be one of {', '.join(sorted(VERDICTS))}")
        expect(claim["verdict"] != "unmeasured" or claim["source"], f"{name}: state what was searched")
        expect(claim["measured"] or claim["source"], f"{name} needs a measurement or a source")
        expect(claim["url"] == "" or claim["url"].startswith("https://"), f"{name}: the url must begin with https://")
        expect(is_page(f"/learn/{claim['lesson']}/"), f"{name}: there is no lesson {claim['lesson']}")
    return f"{len(seen)} claims"


def check_glossary(path: Path) -> str:
    glossary = tomllib.loads(path.read_text(encoding="utf-8"))
    expect(glossary.keys() == {"title", "summary", "term"}, "a glossary must have a title, a summary and [[term]] tables")
    seen: set[str] = set()
    for term in glossary["term"]:
        name = term.get("term", "?")
        unknown = term.keys() - {"term", "definition", "cuda", "link", "also", "linked"}
        expect(not unknown, f"{name}: unknown fields {', '.join(sorted(unknown))}")
        definition = term.get("definition", "")
        expect(definition.endswith("."), f"{name}: the definition must be a sentence")
        link = term.get("link")
        if link is not None:
            expect(link.startswith("https://") or is_page(link), f"{name}: broken link {link}")
        spellings = {spelling.lower() for spelling in (name, *term.get("also", []))}
        twice = spellings & seen
        expect(not twice, f"{', '.join(sorted(twice))} is in the glossary twice")
        seen |= spellings
    return f"{len(glossary['term'])} terms"
