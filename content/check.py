"""Checks the lessons: `python content/check.py [PATH…]`, from any directory. Exit code 1 on an error.

The code that lessons show is tested here. The first line of every Python file below content/ states how:

    # test: run               executed on the CPU in an empty directory; must exit with 0
    # test: snippet           a benchmark snippet; ModelNew, if there is one, must pass the gate
    # test: snippet rejected  a deliberately wrong one; the gate must reject ModelNew
    # test: analyze           needs hardware or a library that may be missing; compiled, not run
    # test: compile           the same, for files that no rule analyzes
    # test: figure NAME.svg   prints the figure NAME.svg, which must equal the file beside it

The files of a `write` exercise (a folder with a judge.py) need no such line: the judge is run on them.
The gate is the one from the lesson on precision. The script also checks the front matter, the files and
anchors that a lesson includes, its blocks, its figures, its internal links, and the data files. It prints
one line per file. It does not check the statements of a lesson.

With --allow-missing-pages, links to lessons that do not exist yet are listed instead of reported as errors.

`python content/check.py --outdated [DAYS]` checks nothing: it lists the pages whose `checked_on` is more than DAYS (365) ago.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks import data, exercise, figure, lesson, python_files
from checks.common import CONTENT, KERNELS, LessonError, environment

JUDGE = "hipward_kernels.exercise"


def checks_of(path: Path) -> Callable[[Path], str] | None:
    if path == Path(__file__).resolve() or path.parent == CONTENT / "checks":
        return None
    if path.suffix == ".hip":
        return exercise.check_file if exercise.exercise_of(path) else None
    if path.suffix == ".py":
        return exercise.check_file if exercise.exercise_of(path) else python_files.check_python
    if path.suffix == ".svg":
        return figure.check_figure
    if path == CONTENT / "coverage.toml":
        return data.check_coverage_list
    if path == CONTENT / "reference" / "glossary.toml":
        return data.check_glossary
    if path == CONTENT / "reference" / "claims.toml":
        return data.check_claims
    by_name = {
        "lesson.md": lesson.check_lesson,
        "part.toml": data.check_part,
        "coverage.toml": data.check_coverage,
        "results.csv": data.check_results,
    }
    if path.name in by_name:
        return by_name[path.name]
    return data.check_reference if path.parent.name == "reference" else None


def check(path: Path, checked_by: Callable[[Path], str]) -> str:
    """Check one file; return what was checked, or an error."""
    try:
        return f"ok    {checked_by(path)}"
    except LessonError as caught:
        error = str(caught)
    except Exception as caught:  # noqa: BLE001 - a lesson's code may raise anything
        error = f"{type(caught).__name__}: {caught}"
    return f"ERROR {error}"


def check_all(paths: list[Path]) -> int:
    """Check files and print a line for each. Return the number of errors."""
    errors = 0
    checks = {path: checked_by for path in paths if (checked_by := checks_of(path))}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Files that run in a process of their own can run side by side; the others change the state of this one.
        running = {
            path: pool.submit(check, path, checked_by)
            for path, checked_by in checks.items()
            if checked_by is python_files.check_python and python_files.has_own_process(path)
        }
        for path, checked_by in checks.items():
            status = running[path].result() if path in running else check(path, checked_by)
            print(f"{path.relative_to(CONTENT)!s:60} {status}", flush=True)
            errors += status.startswith("ERROR")
    return errors


def judge(paths: list[Path]) -> bool:
    """Run the judges of the exercises among the files, all in one process. Return whether all agree."""
    folders = sorted({str(path.parent) for path in paths if path.name == "judge.py"})
    if not folders:
        return True
    if not (KERNELS / "hipward_kernels" / "exercise" / "__main__.py").is_file():
        print(f"{len(folders)} exercises were not judged: the package {JUDGE} is missing")
        return True
    done = subprocess.run([sys.executable, "-m", JUDGE, *folders], check=False)
    return done.returncode == 0


def list_outdated(days: int) -> int:
    """Print the pages that were last checked more than `days` ago, the oldest first. Return 1 if there are any."""
    limit = datetime.date.today() - datetime.timedelta(days=days)
    pages = [
        (day, path)
        for path in CONTENT.glob("*/*/lesson.md")
        if (day := lesson.checked_on(tomllib.loads(lesson.split(path)[0]))) is None or day < limit
    ]
    for day, path in sorted(pages, key=lambda page: (page[0] or datetime.date.min, page[1])):
        print(f"{day or 'never':10} {path.relative_to(CONTENT)}")
    print(f"{len(pages)} pages were last checked before {limit}")
    return int(bool(pages))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--outdated"]:
        return list_outdated(int(arguments[1]) if len(arguments) > 1 else 365)
    if "--allow-missing-pages" in arguments:
        lesson.ALLOW_MISSING_PAGES = True
        arguments = [argument for argument in arguments if argument != "--allow-missing-pages"]
    roots = [Path(argument).resolve() for argument in arguments] or [CONTENT]
    for root in roots:
        if not root.exists():
            print(f"{root} does not exist")
            return 1
    paths = sorted(
        path
        for path in CONTENT.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and any(path.is_relative_to(root) for root in roots)
    )
    # For the processes that are started here.
    os.environ.update(environment())
    sys.path.append(str(KERNELS))
    errors = check_all(paths) + (not judge(paths))
    print(f"{errors} errors" if errors else "no errors")
    return int(errors > 0)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
