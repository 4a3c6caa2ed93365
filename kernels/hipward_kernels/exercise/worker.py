"""The worker process that the runner starts: judges one answer.

`python -P -m hipward_kernels.exercise.worker --events-fd N` imports PyTorch, writes `{"type": "ready"}` to the
descriptor N, and reads one request from standard input, a line of JSON:

    {"files": {"judge.py": "…", "start.py": "…", "wrong/no_mask.py": "…"}, "code": "…"}

`files` are the files of the exercise, `code` is the learner's file. The answer is one line: a result (`result.py`) with
`"type": "judged"`, or `{"type": "error", "message": "…"}`.

The parent process must isolate it like a job, because an answer is Python and can do anything.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hipward_kernels import worker_pipe
from hipward_kernels.exercise import folder
from hipward_kernels.exercise.batch import judge_one, new_seed, warm_up

_FILE = re.compile(r"(?!\.)[\w.-]+(/(?!\.)[\w.-]+)*")


def main() -> None:
    """Entry point."""
    tell = worker_pipe.from_arguments("Judges one answer to an exercise.")
    directory = Path.cwd()
    os.environ.setdefault("TRITON_CACHE_DIR", str(directory / ".cache" / "triton"))
    warm_up()
    tell({"type": "ready"})
    if line := sys.stdin.readline():
        tell(answer(line, directory))


def answer(line: str, directory: Path) -> dict[str, Any]:
    """The answer to a request."""
    try:
        request = json.loads(line)
        files, code = request["files"], request["code"]
        root = directory / "exercise"
        for name, text in files.items():
            if not _FILE.fullmatch(name):
                return {"type": "error", "message": f"{name!r} is not the name of a file of an exercise"}
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        exercise = folder.read(root)
        file = directory / f"answer.{exercise.suffix}"
        file.write_text(code, encoding="utf-8")
    except (ValueError, KeyError, TypeError, AttributeError, OSError, folder.ExerciseError) as error:
        return {"type": "error", "message": f"The exercise cannot be judged: {type(error).__name__}: {error}"}
    return {"type": "judged"} | asdict(judge_one(exercise, file, new_seed()))


if __name__ == "__main__":
    main()
