"""Exercises in HIP: compiled for gfx942, executed in the emulator, and judged by their results and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hipward_kernels.compile.clang import clangs
from hipward_kernels.emulate.program import EmulationError, command
from hipward_kernels.exercise.batch import Limits, judge_one
from hipward_kernels.exercise.fixture import check
from hipward_kernels.exercise.folder import read
from hipward_kernels.exercise.kernel import ranges

if TYPE_CHECKING:
    from pathlib import Path

    from hipward_kernels.exercise.result import Result


def is_missing() -> str | None:
    try:
        command()
    except EmulationError as error:
        return str(error)
    return None if any("gfx942" in clang.archs for clang in clangs()) else "no clang for gfx942"


REASON = is_missing()
needs_emulator = pytest.mark.skipif(REASON is not None, reason=str(REASON))

JUDGE = '''
"""Reverses a block."""
import torch
from hipward_kernels.exercise import expect
from hipward_kernels.exercise.kernel import uninitialized

def case_values(answer, random):
    """128 numbers are reversed"""
    x = torch.arange(128, dtype=torch.float32)
    run = answer.launch("reverse", {"x": x, "y": uninitialized(128), "n": 128}, grid=1, block=128)
    run.expect_close("y", x.flip(0))

def case_segments(answer, random):
    """Loads use whole segments"""
    x = torch.arange(128, dtype=torch.float32)
    run = answer.launch("reverse", {"x": x, "y": uninitialized(128), "n": 128}, grid=1, block=128)
    for load in run.loads:
        expect(load.bytes == 64 * load.segments, f"{load.instruction} wastes bytes", line=load.line)
'''
SOLUTION = """
#include <hip/hip_runtime.h>

extern "C" __global__ void reverse(const float* x, float* y, int n) {
  __shared__ float tile[128];
  const int i = threadIdx.x;
  // hole: load
  tile[i] = x[i];
  __syncthreads();
  // end: load
  y[i] = tile[n - 1 - i];
}
"""
LOAD = "  tile[i] = x[i];\n  __syncthreads();\n"
SAME = SOLUTION.replace(LOAD, "  tile[n - 1 - i] = x[i];\n  __syncthreads();\n")
FILES = {
    "judge.py": JUDGE,
    "start.hip": SAME,
    "solution.hip": SOLUTION,
    "right/other.hip": SOLUTION.replace(LOAD, "  *(tile + i) = *(x + i);\n  __syncthreads();\n"),
    "wrong/same.hip": "// fails: case_values\n// message: Nothing is reversed.\n" + SAME.lstrip("\n"),
}


@pytest.fixture
def exercise(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "exercise" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
    return tmp_path / "exercise"


def judged(exercise: Path, load: str | None, seconds: float = 60) -> Result:
    """The result of the solution with another content of its hole."""
    file = exercise.parent / "mine.hip"
    file.write_text(SOLUTION.lstrip("\n").replace(LOAD, load or LOAD), encoding="utf-8")
    return judge_one(read(exercise), file, 1, Limits(seconds))


@needs_emulator
def test_right_kernel_is_solved(exercise: Path) -> None:
    result = judged(exercise, None)
    assert (result.status, result.unfilled) == ("solved", []), result


@needs_emulator
def test_wrong_value_names_element_numbers_lane_and_line(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = i < 64 ? x[i] : 7;\n  __syncthreads();\n")
    case = result.cases[0]
    assert result.status == "not_yet"
    assert case.message is not None
    assert "y[0] is 7, expected 127" in case.message
    assert "Stored by lane 0 of wavefront 0 of workgroup [0, 0, 0]" in case.message
    assert case.line == 10
    assert case.notes == []


@needs_emulator
def test_result_of_a_warp_of_32_names_the_lanes(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = i & 32 ? x[i] : -1;\n  __syncthreads();\n")
    assert "lanes with a difference: 32-63. Only lanes 32 to 63 differ" in str(result.cases[0].message)


@needs_emulator
def test_never_stored_element_is_named(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = x[i];\n  __syncthreads();\n  if (i > 99) return;\n")
    assert result.cases[0].message is not None
    assert "No thread stores y there" in result.cases[0].message


@needs_emulator
def test_race_fails_a_case_and_has_its_line(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = x[i];\n")
    assert [case.status for case in result.cases] == ["failed", "failed"]
    assert any("lds-race" in note.message and note.line == 9 for note in result.cases[1].notes), result.cases[1]
    assert result.cases[1].message == "The emulator reports an error:"


@needs_emulator
def test_access_out_of_bounds_names_argument_and_lanes(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = x[i + 4];\n  __syncthreads();\n")
    (note, *_) = result.cases[0].notes
    assert note.line == 7
    assert "out-of-bounds" in note.message
    assert "past the end of x, which has 512 bytes (lanes 60-63 of wavefront 1" in note.message


@needs_emulator
def test_source_that_does_not_compile_has_the_first_error_and_its_line(exercise: Path) -> None:
    result = judged(exercise, "  tile[i] = z[i];\n")
    assert (result.status, result.line) == ("did_not_load", 7)
    assert result.message == "use of undeclared identifier 'z'"
    assert "kernel.hip:7" in result.output


@needs_emulator
def test_endless_kernel_ends_with_a_sentence(exercise: Path) -> None:
    result = judged(exercise, "  while (n) atomicAdd(&tile[i], x[i]);\n")
    message = result.cases[0].message
    assert message is not None
    assert "did not end within 1048576 instructions" in message
    assert "A loop may not end" in message
    assert result.cases[0].line == 7


@needs_emulator
def test_removed_loop_without_an_end_is_explained(exercise: Path) -> None:
    result = judged(exercise, "  while (true) n += i;\n")
    assert result.status == "not_yet"
    assert "A loop may not end" in str(result.cases[0].message)


@needs_emulator
def test_renamed_kernel_is_named(exercise: Path) -> None:
    file = exercise.parent / "mine.hip"
    file.write_text(SOLUTION.replace("void reverse", "void other"), encoding="utf-8")
    result = judge_one(read(exercise), file, 1, Limits(60))
    assert "cannot execute the kernel `reverse`" in str(result.cases[0].message)


@needs_emulator
def test_check_accepts_right_and_rejects_wrong_answers(exercise: Path) -> None:
    (result,) = check([exercise], 1, Limits(60), 2)
    assert (result.errors, result.answers) == ([], 5)
    (exercise / "wrong" / "same.hip").write_text("// fails: case_values\n" + SOLUTION, encoding="utf-8")
    (result,) = check([exercise], 1, Limits(60), 2)
    assert result.errors == ["wrong/same.hip (seed 1): must fail exactly in case_values: solved"]


def test_missing_compiler_or_emulator_is_unavailable(exercise: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clangs.cache_clear()
    try:
        with monkeypatch.context() as context:
            context.setenv("HIPWARD_CLANG", "/nowhere/clang++")
            result = judged(exercise, None)
    finally:
        clangs.cache_clear()
    assert result.status == "unavailable"
    assert "Install clang 22 or later" in str(result.message)
    if REASON is None:
        monkeypatch.setenv("HIPWARD_EMULATE", "/nowhere/hipward-emulate")
        result = judged(exercise, None)
        assert result.status == "unavailable"
        assert "HIPWARD_EMULATE is /nowhere/hipward-emulate" in str(result.message)


def test_lanes_are_printed_as_ranges() -> None:
    assert ranges(0b1011) == "0-1, 3"
    assert ranges((1 << 64) - 1) == "0-63"
    assert ranges(0) == ""
