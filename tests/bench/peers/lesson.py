"""Writes a lesson as plain Markdown, for other documentation generators: `lesson.py LESSON_FOLDER OUTPUT_FOLDER`.

Figures become images, questions become lists, and files are shown as code. What only this site has (the judge of an
exercise, remembered answers) is left out, so the other pages have less to load.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\S+)(?: file=(\S+))?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def options(question: dict[str, Any]) -> str:
    choices = "".join(f"* {option['text']} {option['why']}\n" for option in question.get("option", []))
    return f"**{question['question']}** {question.get('why', '')}\n\n{choices}"


def plain(folder: Path, match: re.Match[str]) -> str:
    kind, file, body = match.groups()
    if file:
        return f"```{kind}\n{(folder / file).read_text().rstrip()}\n```"
    try:
        block = tomllib.loads(body)
    except tomllib.TOMLDecodeError:
        return match[0]
    if kind in ("predict", "quiz"):
        return options(block)
    if kind == "figure":
        return f"![{block['title']} {block.get('conclusion', '')}]({block['file']})\n\n{block['caption']}"
    shown = folder / block.get("file", "")
    code = f"\n\n```python\n{shown.read_text().rstrip()}\n```" if shown.is_file() else ""
    return f"**Exercise.** {block.get('task', block.get('title', ''))}{code}\n"


def main() -> None:
    folder, output = map(Path, sys.argv[1:])
    _, front, text = (folder / "lesson.md").read_text().split("+++\n", 2)
    title = tomllib.loads(front)["title"]
    markdown = BLOCK.sub(lambda match: plain(folder, match), text)
    output.mkdir(parents=True)
    (output / "title").write_text(title)
    (output / "lesson.md").write_text(markdown.strip() + "\n")
    for figure in folder.glob("*.svg"):
        shutil.copy(figure, output)


if __name__ == "__main__":
    main()
