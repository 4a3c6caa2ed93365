"""Ten classic kernels of CUDA's samples, compiled by clang and executed in the emulator, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hipward_kernels.compile import Request, compile_source
from hipward_kernels.emulate import run
from hipward_kernels.emulate.program import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ARCHS = ("gfx90a", "gfx942", "gfx950")
FILE = Path(__file__).with_name("classic_kernels.hip")


@pytest.fixture(scope="module")
def listings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    request = Request.from_json({"language": "hip", "source": FILE.read_text(encoding="utf-8"), "archs": list(ARCHS)})
    answer = compile_source(request, tmp_path_factory.mktemp("classics"))
    return {target["arch"]: target["texts"]["amdgcn"] for target in answer["targets"]}


@pytest.fixture(params=ARCHS)
def execute(request: pytest.FixtureRequest, listings: dict[str, str]) -> Callable[..., None]:
    def launch(kernel: str, grid: Sequence[int], block: Sequence[int], *arguments: Any) -> None:
        passed = [argument if isinstance(argument, Tensor) else value(argument, "i32") for argument in arguments]
        x, y, z = (*grid, 1, 1)[:3]
        width, height, depth = (*block, 1, 1)[:3]
        report = run(listings[request.param], passed, (x, y, z), (width, height, depth), kernel=kernel)
        assert not report.findings, report.findings

    return launch


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def floats(random: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(random.standard_normal(shape).astype(np.float32))


def integers(random: np.random.Generator, low: int, high: int, count: int) -> Tensor:
    return torch.from_numpy(random.integers(low, high, count, dtype=np.int32))


def close(result: Tensor, expected: Any) -> None:
    np.testing.assert_allclose(result.numpy(), expected, rtol=2e-5, atol=2e-5)


def test_reduction(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, total = floats(random, 1001), torch.zeros(1)
    execute("reduction", [3], [256], x, total, 1001)
    close(total, [x.double().sum()])


def test_scan(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, y = integers(random, -100, 100, 500), torch.zeros(500, dtype=torch.int32)
    execute("scan", [2], [256], x, y, 500)
    expected = [*np.cumsum(x[:256].numpy()), *np.cumsum(x[256:].numpy())]
    assert y.tolist() == expected


def test_transpose(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, y = floats(random, 45, 70), torch.zeros(70, 45)
    execute("transpose", [3, 2], [32, 8], x, y, 45, 70)
    assert torch.equal(y, x.T)


def test_histogram(execute: Callable[..., None], random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(0, 256, 1500, dtype=np.uint8))
    bins = torch.zeros(256, dtype=torch.int32)
    execute("histogram", [2], [256], x, bins, 1500)
    assert bins.tolist() == np.bincount(x.numpy(), minlength=256).tolist()


def test_stencil(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, y = floats(random, 600), torch.zeros(600)
    execute("stencil", [3], [256], x, y, 600)
    close(y, np.convolve(x.numpy(), [1, -4, 6, -4, 1], "same"))


def test_matmul(execute: Callable[..., None], random: np.random.Generator) -> None:
    a, b, c = floats(random, 37, 41), floats(random, 41, 29), torch.zeros(37, 29)
    execute("matmul", [2, 3], [16, 16], a, b, c, 37, 29, 41)
    close(c, a.double() @ b.double())


def test_bitonic_sort(execute: Callable[..., None], random: np.random.Generator) -> None:
    x = integers(random, -1000, 1000, 256)
    expected = sorted(x.tolist())
    execute("bitonic_sort", [1], [256], x)
    assert x.tolist() == expected


def test_softmax(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, y = floats(random, 3, 131), torch.zeros(3, 131)
    execute("softmax", [3], [64], x, y, 131)
    close(y, x.double().softmax(1))


def test_atomics(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, results = integers(random, -1000, 1000, 150), torch.zeros(5, dtype=torch.int32)
    execute("atomics", [2], [128], x, results, 150)
    last = 0
    for _ in range(150):
        last = 7 if last * 3 + 1 > 1_000_000 else last * 3 + 1
    numbers = x.numpy()
    expected = [max(numbers.max(), 0), min(numbers.min(), 0), np.bitwise_xor.reduce(numbers), 150, last]
    assert results.tolist() == expected


def test_warp_shuffles(execute: Callable[..., None], random: np.random.Generator) -> None:
    x, y = integers(random, -50, 100, 190), torch.zeros(190, dtype=torch.int32)
    execute("warp_shuffles", [2], [128], x, y, 190)
    padded = np.zeros(256, np.int64)
    padded[:190] = x.numpy()
    rows = padded.reshape(4, 64)
    sums, odd = rows.cumsum(1), rows & 1
    flags = 2 * (sums < 0).any(1) + 4 * (sums > -1000000).all(1)
    expected = sums * 8 + (odd.cumsum(1) - odd) + sums[:, :1] + flags[:, None]
    assert y.tolist() == expected.reshape(-1)[:190].tolist()
