"""Functions that clang does not inline, executed in the emulator."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from hipward_kernels.compile import Request, compile_source
from hipward_kernels.emulate import run
from hipward_kernels.emulate.program import value

ARCHS = ("gfx90a", "gfx942", "gfx950")
FILE = Path(__file__).with_name("called_functions.hip")


@pytest.fixture(scope="module")
def listings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    request = Request.from_json({"language": "hip", "source": FILE.read_text(encoding="utf-8"), "archs": list(ARCHS)})
    answer = compile_source(request, tmp_path_factory.mktemp("calls"))
    return {target["arch"]: target["texts"]["amdgcn"] for target in answer["targets"]}


def remainder(x: int) -> int:
    """The remainder of C, with the sign of the dividend."""
    return int(math.fmod(x, 7))


def inner(x: int) -> int:
    return x * 5 if remainder(x) == 3 else x - 2


def outer(x: int, count: int) -> int:
    total = x
    for i in range(count):
        total += inner(total + i) - i
    return total


def many(a: list[int]) -> int:
    total = a[0] + 2 * a[1] - 3 * a[2] + a[3] * a[4]
    total += sum(-a[at] if at % 3 == 0 else a[at] for at in range(5, 31))
    return total + 5 * a[31] - 7 * a[32] + 11 * a[33] - 13 * a[34]


@pytest.mark.parametrize("arch", ARCHS)
def test_called_functions(arch: str, listings: dict[str, str]) -> None:
    n = 150
    x, y, z = torch.linspace(-2, 2, n), torch.zeros(n), torch.zeros(n, dtype=torch.int32)
    report = run(listings[arch], [x, y, z, value(n, "i32")], (3, 1, 1), (64, 1, 1), kernel="calls")
    assert not report.findings, report.findings
    torch.testing.assert_close(y, (2 * x - 3) * x + 0.5)
    own = [outer(i, 3 + i % 4) if i & 1 else inner(i) for i in range(n)]
    assert z.tolist() == [value + many([i, *range(1, 34), i]) for i, value in enumerate(own)]


@pytest.mark.parametrize("arch", ARCHS)
def test_function_pointers(arch: str, listings: dict[str, str]) -> None:
    n = 100
    z = torch.zeros(n, dtype=torch.int32)
    report = run(listings[arch], [z, value(n, "i32")], (1, 1, 1), (128, 1, 1), kernel="function_pointers")
    assert not report.findings, report.findings
    functions = [lambda x: x + 10, lambda x: x * 10, lambda x: x - 10]
    assert z.tolist() == [functions[i // 5 % 3](i) for i in range(n)]


@pytest.mark.parametrize("arch", ARCHS)
def test_recursion(arch: str, listings: dict[str, str]) -> None:
    n = 70
    z = torch.zeros(n, dtype=torch.int32)
    report = run(listings[arch], [z, value(n, "i32")], (2, 1, 1), (64, 1, 1), kernel="recursion")
    assert not report.findings, report.findings
    assert z.tolist() == [[0, 1, 1, 2, 3, 5, 8, 13, 21][i % 9] for i in range(n)]
