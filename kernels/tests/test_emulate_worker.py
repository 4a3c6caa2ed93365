"""The worker that executes a kernel with `hipward run`: its command, and an answer for every end of the program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hipward_kernels.emulate import worker

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = {
    "language": "cuda",
    "source": "kernel",
    "arch": "gfx90a",
    "launch": "grid = 1",
    "reference": "def reference(): ...",
    "unsafe_fixes": True,
}


def answer(folder: Path, script: str, **changes: Any) -> dict[str, Any]:
    """The answer if this shell script is the program."""
    program = folder / "hipward"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return worker.answer(json.dumps(REQUEST | changes), folder, str(program))


def test_program_gets_the_files_and_options_of_the_request(tmp_path: Path) -> None:
    script = """printf '{"files": "%s", "options": "%s"}' "$(cat kernel.cu run.toml reference.py | tr '\\n' ' ')" "$*"
echo printed >&2; exit 1"""
    found = answer(tmp_path, script)
    assert found["type"] == "emulated", found
    report = found["report"]
    assert report["files"].startswith("kernelgrid = 1def reference(): ...")
    options = report["options"]
    assert options.startswith("run kernel.cu --args run.toml --format json --budget 16777216 --python ")
    assert options.endswith("--arch gfx90a --check reference.py --unsafe-fixes")
    assert report["output"] == "printed\n"
    assert report["seconds"] > 0


def test_options_that_are_left_out_are_not_passed(tmp_path: Path) -> None:
    script = """printf '{"options": "%s"}' "$*"; ls >&2"""
    found = answer(tmp_path, script, language="assembly", arch=None, reference=None, unsafe_fixes=False)
    assert not {"--arch", "--check", "--unsafe-fixes"} & set(found["report"]["options"].split())
    assert found["report"]["output"].split() == ["errors", "kernel.s", "output", "run.toml"]


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        (
            'echo noise >&2; echo "hipward run: $PWD/reference.py: wrong" >&2; exit 2',
            "not-executed",
            "reference.py: wrong",
        ),
        ("echo '{}' | head -c 1", "failed", "The report cannot be read"),
        ("kill -6 $$", "failed", "ended by signal 6; the buffers may need more memory"),
        ("echo broken >&2; exit 101", "failed", "ended with code 101: broken"),
        ("sleep 20", "timeout", "There was no result after 1 seconds."),
    ],
)
def test_every_end_of_the_program_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: str, message: str
) -> None:
    monkeypatch.setattr(worker, "SECONDS", 1.0)
    found = answer(tmp_path, script)
    assert (found["type"], found["code"]) == ("error", code), found
    assert message in found["message"]
    assert str(tmp_path) not in found["message"]


def test_missing_program_and_unknown_language_are_answers(tmp_path: Path) -> None:
    assert worker.answer("{}", tmp_path, None)["code"] == "failed"
    assert answer(tmp_path, "exit 0", language="ptx")["code"] == "failed"
