"""The pages of the site that a lesson can link to."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from checks.common import CONTENT

LINK = re.compile(r"\]\((/[^)\s]*)\)")
REFERENCE_LINK = re.compile(r"/reference/([a-z0-9-]+)/")
RULE_LINK = re.compile(r"/rules/([a-z0-9-]+)/")
OP_LINK = re.compile(r"/ops/([a-z0-9_]+)/")
PATH_LINK = re.compile(r"/learn/([a-z]+)/")
RULE = re.compile(r'^ +"HW\d{3}" "([a-z0-9-]+)" \{$', re.MULTILINE)
PAGES = {"", "learn", "playground", "benchmark", "rules", "ops", "models", "isa", "reference"}
PATHS = ("newcomer", "kernel", "team")
KINDS = ("tutorial", "how-to", "explanation")
ROUTED = {"attention", "linear", "quantization", "projections"}


def is_page(link: str) -> bool:
    page = link.partition("#")[0]
    if page.strip("/") in PAGES and page.endswith("/"):
        return True
    if table := REFERENCE_LINK.fullmatch(page):
        return (CONTENT / "reference" / f"{table[1]}.toml").is_file()
    if rule := RULE_LINK.fullmatch(page):
        return rule[1] in rules()
    if op := OP_LINK.fullmatch(page):
        package = CONTENT.parent / "kernels" / "hipward_kernels"
        return op[1] in ROUTED or (package / "ops" / op[1] / "__init__.py").is_file()
    if path := PATH_LINK.fullmatch(page):
        return path[1] in PATHS
    return page in {lesson_page(path) for path in CONTENT.glob("*/*/lesson.md")}


def lesson_page(path: Path) -> str:
    """`01-port/02-vendor-libraries/lesson.md` is the page `/learn/port/vendor-libraries/`."""
    part, lesson = (folder.partition("-")[2] for folder in path.relative_to(CONTENT).parts[:2])
    return f"/learn/{part}/{lesson}/"


@cache
def rules() -> frozenset[str]:
    """Names of the rules, from their declarations."""
    analyzer = CONTENT.parent / "analyzer"
    sources = (path.read_text(encoding="utf-8") for path in analyzer.glob("*/src/rules/*/*.rs"))
    return frozenset(name for source in sources for name in RULE.findall(source))


def kind_of(part: Path) -> str:
    """The kind of a part's pages, from its part.toml."""
    path = part / "part.toml"
    if not path.is_file():
        return "tutorial"
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("kind", "tutorial"))
