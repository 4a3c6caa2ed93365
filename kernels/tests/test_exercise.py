"""Exercises: helpers of judges, results of answers, hostile answers, and the check of exercises."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from hipward_kernels.exercise import expect, expect_close, source_of, tensor
from hipward_kernels.exercise.assertions import ExpectationError
from hipward_kernels.exercise.batch import Limits, judge_one
from hipward_kernels.exercise.fixture import check
from hipward_kernels.exercise.folder import ExerciseError, filled_holes, holes, read, with_hole
from hipward_kernels.exercise.result import OUTPUT_LIMIT, Result
from hipward_kernels.exercise.worker import answer as worker_answer

JUDGE = '''
"""Doubles numbers."""
from hipward_kernels.exercise import expect, expect_close, tensor

def case_one(answer, random):
    """One number"""
    x = tensor(random, 1)
    expect_close(answer.double(x.clone()), 2 * x.double(), atol=1e-6)

def case_strided(answer, random):
    """Every other number"""
    x = tensor(random, 9)[::2]
    expect_close(answer.double(x.clone()), 2 * x.double(), atol=1e-6)
'''
SOLUTION = """
import torch

def double(x):
    # hole: product
    return x * 2
    # end: product
"""
START = SOLUTION.replace("return x * 2", "return ...")
FIRST_ONLY = SOLUTION.replace("return x * 2", "return torch.cat([x[:1] * 2, x[1:]])")
FILES = {
    "judge.py": JUDGE,
    "start.py": START,
    "solution.py": SOLUTION,
    "right/sum.py": SOLUTION.replace("x * 2", "x + x"),
    "wrong/same.py": "# fails: case_one, case_strided\n" + SOLUTION.replace("x * 2", "x"),
    "wrong/first.py": "# fails: case_strided\n# message: Only the first element is doubled,\n#   not the others.\n"
    + FIRST_ONLY,
}


def write(folder: Path, **changes: str) -> Path:
    for name, text in (FILES | {name.replace("__", "/") + ".py": text for name, text in changes.items()}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
    return folder


def judged(folder: Path, answer: str, seconds: float = 10, **changes: str) -> Result:
    exercise = read(write(folder / "exercise", **changes))
    file = folder / "mine.py"
    file.write_text(textwrap.dedent(answer).lstrip("\n"), encoding="utf-8")
    return judge_one(exercise, file, 5, Limits(seconds))


def checked(folder: Path, **changes: str) -> list[str]:
    (result,) = check([write(folder, **changes)], 1, Limits(), 2)
    return result.errors


# Helpers


@pytest.mark.parametrize(
    ("got", "expected", "message"),
    [
        (torch.zeros(2, 3), torch.zeros(3, 2), "the result has shape (2, 3), expected (3, 2)"),
        (
            torch.tensor([[1.0, 2.0], [3.0, 5.0]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
            "the result[1, 1] is 5, expected 4",
        ),
        (torch.tensor([1.0, float("nan")]), torch.ones(2), "the result[1] is nan, expected 1; 1 of 2 elements differ"),
        (torch.tensor(float("inf")), torch.tensor(1.0), "the result is inf, expected 1"),
        (torch.tensor(1.0), torch.tensor(float("-inf")), "the result is 1, expected -inf"),
        (None, torch.zeros(2), "the result is None, expected a tensor or a number"),
        (..., 1.0, "the result is Ellipsis, expected a tensor or a number"),
        ("text", 1.0, "the result is str 'text', expected a tensor or a number"),
        (object, torch.zeros(1), "expected a tensor or a number"),
        ((torch.ones(1),), (torch.ones(1), torch.ones(1)), "the result has 1 values, expected 2"),
        ((torch.ones(1), torch.zeros(1)), (torch.ones(1), torch.ones(1)), "the result[1][0] is 0, expected 1"),
        (3, 4, "the result is 3, expected 4 (off by 1, allowed 0)"),
    ],
)
def test_difference_names_place_and_values(got: Any, expected: Any, message: str) -> None:
    with pytest.raises(ExpectationError) as caught:
        expect_close(got, expected)
    assert message in str(caught.value)


def test_equal_values_pass() -> None:
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
    expect_close(special, special.clone())
    expect_close(torch.tensor([1.0001]), torch.tensor([1.0]), rtol=1e-3)
    expect_close([1, 2], [1, 2])
    expect_close(torch.ones(2, dtype=torch.bfloat16, requires_grad=True), torch.ones(2, dtype=torch.float64))
    expect_close(torch.zeros(0), torch.zeros(0))
    expect_close(1 + 2j, torch.tensor(1 + 2j))
    expect(torch.ones(3), "a tensor of true elements is true")


def test_small_dtypes_are_compared_in_float64() -> None:
    with pytest.raises(ExpectationError, match=r"the result\[0\] is 1, expected 1.000977"):
        expect_close(torch.ones(1, dtype=torch.bfloat16), torch.tensor([1 + 2**-10], dtype=torch.float64), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.bool])
def test_tensor_is_reproducible_and_differs_by_run(dtype: torch.dtype) -> None:
    one, same, other = (tensor(random.Random(seed), 4, 100, dtype=dtype) for seed in (1, 1, 2))  # noqa: S311
    assert one.dtype == dtype
    assert one.shape == (4, 100)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_source_of_returns_the_text(tmp_path: Path) -> None:
    module = ModuleType("answer")
    module.__file__ = str(tmp_path / "a.py")
    (tmp_path / "a.py").write_text("x = 1\n")
    assert source_of(module) == "x = 1\n"


# Results


def test_solution_is_solved(tmp_path: Path) -> None:
    result = judged(tmp_path, SOLUTION)
    assert result.status == "solved"
    assert [(case.title, case.status) for case in result.cases] == [
        ("One number", "passed"),
        ("Every other number", "passed"),
    ]
    assert result.unfilled == []
    assert len(result.judge) == 16


def test_failing_case_has_numbers_and_the_hint_of_the_wrong_answer(tmp_path: Path) -> None:
    result = judged(tmp_path, FIRST_ONLY)
    assert result.status == "not_yet"
    assert result.failed == ["case_strided"]
    assert "the result[1] is" in str(result.cases[1].message)
    assert result.hints == ["Only the first element is doubled, not the others."]


def test_empty_hole_is_named(tmp_path: Path) -> None:
    assert judged(tmp_path, START).unfilled == ["product"]


def test_missing_name_is_named(tmp_path: Path) -> None:
    assert judged(tmp_path, "x = 1\n").cases[0].message == "The file defines no `double`."


def test_exception_names_the_line(tmp_path: Path) -> None:
    case = judged(tmp_path, "def double(x):\n    return x.nothing\n").cases[0]
    assert case.line == 2
    assert "AttributeError" in str(case.message)


@pytest.mark.parametrize(
    ("answer", "line", "message"),
    [
        ("def double(x)\n    return x\n", 1, "Syntax error"),
        ("import torch\n\n1 / 0\n", 3, "ZeroDivisionError"),
        ("import missing_module\n", 1, "There is no module missing_module"),
        ("import sys\nsys.exit(0)\n", 2, "ended the program"),
    ],
)
def test_file_that_does_not_load(tmp_path: Path, answer: str, line: int, message: str) -> None:
    result = judged(tmp_path, answer)
    assert result.status == "did_not_load"
    assert result.line == line
    assert message in str(result.message)


def test_unavailable_case_is_never_solved(tmp_path: Path) -> None:
    judge = JUDGE + (
        "\nfrom hipward_kernels.exercise import Unavailable\n"
        'def case_gpu(answer, random):\n    """On a GPU"""\n    raise Unavailable("there is no GPU")\n'
    )
    result = judged(tmp_path, SOLUTION, judge=judge)
    assert (result.status, result.message) == ("unavailable", "there is no GPU")
    assert judged(tmp_path, FIRST_ONLY, judge=judge).status == "not_yet"


def test_judge_without_its_library_is_unavailable(tmp_path: Path) -> None:
    judge = JUDGE.replace("from hip", "import triton.no_such_module\nfrom hip", 1)
    result = judged(tmp_path, SOLUTION, judge=judge)
    assert result.status == "unavailable"
    assert "triton" in str(result.message)


def test_seed_reproduces_the_values(tmp_path: Path) -> None:
    one, two = (judged(tmp_path, FIRST_ONLY) for _ in range(2))
    assert one.cases == two.cases


def test_output_is_captured_and_bounded(tmp_path: Path) -> None:
    result = judged(tmp_path, "print('hello')\n" + SOLUTION)
    assert (result.output, result.output_truncated) == ("hello\n", False)
    flood = judged(tmp_path, "print('x' * 1_000_000)\n" + SOLUTION)
    assert flood.status == "solved"
    assert len(flood.output) == OUTPUT_LIMIT
    assert flood.output_truncated


# Hostile answers


def test_endless_loop_ends_at_the_limit(tmp_path: Path) -> None:
    answer = "def double(x):\n    print('before')\n    while True:\n        pass\n"
    result = judged(tmp_path, answer, seconds=1)
    assert result.status == "timeout"
    assert "One number" in str(result.message)
    assert result.output == "before\n"
    assert judged(tmp_path, "while True:\n    pass\n", seconds=1).status == "timeout"


def test_subprocess_does_not_outlive_its_answer(tmp_path: Path) -> None:
    answer = f"""
        import subprocess, sys
        code = "import time, pathlib; time.sleep(2); pathlib.Path({str(tmp_path / "late")!r}).write_text('x')"
        subprocess.Popen([sys.executable, "-c", code])
        def double(x):
            return x * 2
    """
    assert judged(tmp_path, answer).status == "solved"
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os._exit(0)", "(exit code 0)"),
        ("os.kill(os.getpid(), 11)", "(SIGSEGV. An access outside"),
        ("os._exit(3)", "before the case did"),
        ("sys.exit()", "sys.exit()"),
    ],
)
def test_process_that_ends_early_fails_its_case(tmp_path: Path, code: str, reason: str) -> None:
    answer = f"import os, sys\ndef double(x):\n    if len(x) == 5:\n        {code}\n    return x * 2\n"
    result = judged(tmp_path, answer)
    assert result.status == "not_yet"
    assert [case.status for case in result.cases] == ["passed", "failed"]
    assert reason in str(result.cases[1].message)


def test_process_that_ends_during_the_import_is_reported(tmp_path: Path) -> None:
    result = judged(tmp_path, "import os\nos._exit(0)\n")
    assert result.status == "did_not_load"
    assert "exit code 0" in str(result.message)


def test_answer_that_ends_the_judge_is_not_solved(tmp_path: Path) -> None:
    result = judged(tmp_path, "import os\ndef double(x):\n    os.kill(os.getppid(), 9)\n    return x * 2\n")
    assert result.status == "not_yet"
    assert "ended early" in str(result.message)


def test_cases_do_not_share_state(tmp_path: Path) -> None:
    answer = "calls = []\ndef double(x):\n    calls.append(x)\n    return x * 2 if len(calls) == 1 else x\n"
    assert judged(tmp_path, answer).status == "solved"


def test_backward_works_in_every_case(tmp_path: Path) -> None:
    answer = "import torch\ntorch.ones(1, requires_grad=True).sum().backward()\n" + SOLUTION.replace(
        "return x * 2", "x = x.requires_grad_(); (x * 2).sum().backward(); return x.detach() * x.grad"
    )
    exercise = write(tmp_path / "exercise")
    file = tmp_path / "mine.py"
    file.write_text(answer, encoding="utf-8")
    # In a process of its own: PyTorch refuses a backward pass in a fork of a process that has run one, as this has.
    command = [sys.executable, "-m", "hipward_kernels.exercise", str(exercise), str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Solved." in result.stdout, result.stdout + result.stderr


def test_too_much_memory_is_refused(tmp_path: Path) -> None:
    result = judged(tmp_path, "def double(x):\n    return bytearray(1 << 33)\n")
    assert "more memory" in str(result.cases[0].message)


@pytest.mark.parametrize(
    "trick",
    [
        # Replaces the comparison in the judge's own module.
        "import sys\nsys.modules['judge'].expect_close = lambda *a, **k: None",
        # Replaces the code of the comparison.
        """from hipward_kernels.exercise import expect_close
expect_close.__code__ = (lambda got, expected, *, atol=0, rtol=0, what='': None).__code__""",
        # Makes every tensor equal.
        "import torch\ntorch.Tensor.all = lambda self, *a: True",
        # Replaces the cases.
        """import sys
for name in ('case_one', 'case_strided'):
    getattr(sys.modules['judge'], name).__code__ = (lambda answer, random: None).__code__""",
    ],
)
def test_replaced_comparison_is_detected(tmp_path: Path, trick: str) -> None:
    result = judged(tmp_path, trick + "\ndef double(x):\n    return x\n")
    assert result.status == "not_yet"
    assert "known to be wrong" in str(result.message)


def test_wrong_answer_that_passes_by_chance_is_not_a_sign_of_tampering(tmp_path: Path) -> None:
    judge = JUDGE + (
        '\ndef case_sign(answer, random):\n    """A sign"""\n    x = random.choice([-1, 1])\n'
        '    expect(answer.double(x) == 2 * x, "wrong sign")\n'
    )
    positive = "# fails: case_sign\n" + SOLUTION.replace("x * 2", "abs(x) * 2 if isinstance(x, int) else x * 2")
    exercise = read(write(tmp_path, judge=judge, wrong__positive=positive))
    for seed in range(4):
        assert judge_one(exercise, exercise.solution, seed).status == "solved"


def test_forged_lines_are_refused(tmp_path: Path) -> None:
    forged: list[Any] = [
        line
        for name in ("case_one", "case_strided")
        for line in (
            {"step": "begin", "case": name},
            {"step": "answer", "message": None, "line": None},
            {"step": "case", "status": "passed", "message": None, "line": None},
            {"step": "ended", "case": name, "reason": None},
        )
    ]
    forged.append({"step": "end"})
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in forged)
    answer = f"""
        import os
        for fd in range(3, 64):
            try:
                os.write(fd, {data!r}.encode())
            except OSError:
                pass
        os._exit(0)
    """
    assert judged(tmp_path, answer).status == "not_yet"


# The check of an exercise


def test_valid_exercise_has_no_errors(tmp_path: Path) -> None:
    assert checked(tmp_path) == []


def test_check_reports_what_is_wrong(tmp_path: Path) -> None:
    errors = checked(
        tmp_path,
        start=SOLUTION,
        right__sum="def double(x):\n    return x\n",
    )
    text = "\n".join(errors)
    assert "start.py (seed 1): passes every case" in text
    assert "right/sum.py (seed 1): must pass: not_yet; case_one:" in text
    assert "the hole is not needed" in text
    errors = checked(tmp_path, wrong__first="# fails: case_one\n" + FIRST_ONLY)
    assert any(
        "wrong/first.py (seed 1): must fail exactly in case_one: not_yet; case_strided" in error for error in errors
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wrong__first": FIRST_ONLY}, "wrong/first.py names no case"),
        ({"wrong__first": "# fails: case_other\n"}, "wrong/first.py names case_other"),
        ({"judge": "x = 1\n"}, "judge.py has no docstring"),
        ({"judge": '"""A judge."""\n'}, "no function named"),
        ({"judge": '"""A judge."""\ndef case_a(answer, random):\n    pass\n'}, "case_a has no docstring"),
        ({"judge": "def"}, "cannot be parsed"),
        ({"start": "x = 1\n"}, "start.py has no hole"),
        ({"start": START.replace("product", "other")}, "start.py has the holes ['other'], solution.py ['product']"),
    ],
)
def test_mistakes_in_an_exercise_are_reported(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    (error,) = checked(tmp_path, **changes)
    assert message in error


def test_judge_with_an_error_is_reported(tmp_path: Path) -> None:
    judge = JUDGE.replace("from hip", "1 / 0\nfrom hip", 1)
    assert "error of the lesson" in "\n".join(checked(tmp_path, judge=judge))


def test_holes_are_replaced() -> None:
    assert holes(SOLUTION) == {"product": "    return x * 2\n"}
    assert with_hole(SOLUTION, "product", "    return ...\n") == START
    for text in ("# hole: a\n", "# end: a\n", "# hole: a\n# hole: b\n", "# hole: a\n# end: a\n" * 2):
        with pytest.raises(ExerciseError):
            holes(text)


def test_solution_may_lack_the_marks() -> None:
    start = "import torch\n\n# hole: a\na = ...\n# end: a\nb = 1\n# hole: c\nc = ...\n# end: c\n"
    solution = "import torch  # for tensors\n\n# Why.\na = 2\na += 1\nb = 1\nc = a\n"
    assert filled_holes(start, solution) == {"a": "\n# Why.\na = 2\na += 1\n", "c": "c = a\n"}
    end = start + "d = 4\n"
    assert filled_holes(end, solution + "d = 4\n")["c"] == "c = a\n"
    for other in (solution.replace("b = 1", "b = 2"), solution.replace("import torch", "import numpy")):
        with pytest.raises(ExerciseError, match="differs from start"):
            filled_holes(start, other)


# The command line


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "hipward_kernels.exercise", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, check=False, timeout=120, cwd=Path(__file__).parent.parent
    )


def test_command_judges_a_file(tmp_path: Path) -> None:
    folder = write(tmp_path)
    done = command(folder, folder / "wrong" / "first.py")
    assert done.returncode == 1
    assert "FAIL  Every other number" in done.stdout
    assert "Hint: Only the first element" in done.stdout
    done = command(folder, folder / "solution.py", "--json", "--seed", 3)
    assert done.returncode == 0
    assert json.loads(done.stdout)["seed"] == 3


def test_worker_judges_one_request(tmp_path: Path) -> None:
    files = {str(path.relative_to(tmp_path)): path.read_text() for path in write(tmp_path).rglob("*.py")}
    reading, writing = os.pipe()
    line = [sys.executable, "-P", "-m", "hipward_kernels.exercise.worker", "--events-fd", str(writing)]
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(
        line,
        input=json.dumps({"files": files, "code": FIRST_ONLY}) + "\n",
        text=True,
        check=True,
        timeout=120,
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)},
        pass_fds=[writing],
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        ready, judged = map(json.loads, lines)
    assert ready == {"type": "ready"}
    assert (judged["type"], judged["status"]) == ("judged", "not_yet")
    assert judged["hints"] == ["Only the first element is doubled, not the others."]


@pytest.mark.parametrize(
    "request_",
    [
        "nothing",
        "[]",
        "{}",
        json.dumps({"files": {"../x.py": ""}, "code": ""}),
        json.dumps({"files": {"judge.py": "x = 1"}, "code": ""}),
        json.dumps({"files": 3, "code": ""}),
    ],
)
def test_worker_refuses_an_invalid_request(tmp_path: Path, request_: str) -> None:
    assert worker_answer(request_, tmp_path)["type"] == "error"
    assert not (tmp_path.parent / "x.py").exists()


def test_command_checks_all_exercises(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", start=SOLUTION)
    done = command(tmp_path / "a", tmp_path / "b", "--json")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert {Path(result["folder"]).name: bool(result["errors"]) for result in results} == {"a": False, "b": True}
    done = command(tmp_path)
    assert done.returncode == 1
    assert "passes every case" in done.stdout
