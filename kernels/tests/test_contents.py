"""Which results of `get_inputs` are recognized as independent random numbers, and what is generated in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from hipward_kernels.harness import contents, contract, inputs
from hipward_kernels.harness.contents import recognized
from hipward_kernels.harness.inputs import Ring, Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CPU = torch.device("cpu")


def with_seeds(make: Callable[[], list[Any]], first: int) -> tuple[list[Any], list[Any]]:
    torch.manual_seed(first)
    one = make()
    torch.manual_seed(first + 1)
    return one, make()


def with_target(x: Tensor) -> list[Tensor]:
    return [x, (x > 0.5).float()]


def symmetric(x: Tensor) -> Tensor:
    return torch.triu(x) + torch.triu(x, 1).T


RANDOM: dict[str, Callable[[], list[Any]]] = {
    "uniform": lambda: [torch.rand(64, 512)],
    "four dimensions": lambda: [torch.rand(16, 8, 32, 32)],
    "normal": lambda: [torch.randn(128, 300), torch.randn(77, 55) * 3 + 1],
    "bfloat16": lambda: [torch.randn(256, 512).bfloat16()],
    "float16": lambda: [torch.rand(256, 512).half() * 2 - 1],
    "labels": lambda: [torch.rand(64, 512), torch.randint(0, 10, (4096,))],
    "mask": lambda: [torch.rand(64, 512) > 0.3],
    "constants": lambda: [torch.rand(64, 64), torch.ones(64, 64).tril().bool(), 3, "sum", None],
}

STRUCTURED: dict[str, Callable[[], list[Any]]] = {
    "triangular": lambda: [torch.rand(256, 256).triu()],
    "symmetric": lambda: [symmetric(torch.rand(256, 256))],
    "sorted": lambda: [torch.rand(4096).sort().values],
    "softmax": lambda: [torch.rand(64, 512).softmax(-1)],
    "normalized": lambda: [F.normalize(torch.randn(64, 512), dim=-1)],
    "permutation": lambda: [torch.randperm(4096)],
    "one-hot": lambda: [F.one_hot(torch.randint(0, 10, (512,)), 10).float()],
    "signs": lambda: [(torch.randint(0, 2, (4096,)) * 2 - 1).float()],
    "cumulative": lambda: [torch.randn(64, 512).cumsum(-1)],
    "low rank": lambda: [torch.randn(256, 4) @ torch.randn(4, 256)],
    "equal rows": lambda: [torch.randn(1, 512).repeat(64, 1)],
    "logarithmic": lambda: [torch.rand(64, 512).log()],
    "related tensors": lambda: with_target(torch.rand(64, 64)),
    "few elements": lambda: [torch.rand(4, 16)],
    "sparse": lambda: [torch.eye(64).to_sparse() * torch.rand(())],
    "complex": lambda: [torch.randn(64, 64, dtype=torch.complex64)],
    "expanded": lambda: [torch.rand(512, 1).expand(512, 64)],
    "nothing random": lambda: [torch.ones(64, 64)],
}


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_generated_contents_have_the_authors_distribution(make: Callable[[], list[Any]]) -> None:
    for seed in range(0, 20, 2):
        one, other = with_seeds(make, seed)
        contents = recognized(one, other, CPU)
        assert contents is not None
        made = contents.made()
        assert len(made) == len(one)
        for mine, author in zip(made, one, strict=True):
            if not isinstance(author, Tensor):
                assert mine is author
                continue
            assert (mine.shape, mine.dtype, mine.stride()) == (author.shape, author.dtype, author.stride())
            spread = float(author.double().std())
            assert float(mine.double().mean()) == pytest.approx(float(author.double().mean()), abs=0.15 * spread)
            assert float(mine.double().std()) == pytest.approx(spread, rel=0.1)
        assert not torch.equal(made[0], one[0])


def test_generated_contents_keep_range_and_layout() -> None:
    def make() -> list[Any]:
        return [torch.rand(64, 128).t(), torch.randint(5, 50, (64, 64))]

    contents = recognized(*with_seeds(make, 0), CPU)
    assert contents is not None
    x, labels = contents.made()
    before = x.data_ptr()
    contents.write([x, labels])
    assert x.data_ptr() == before
    assert x.stride() == (1, 128)
    assert 0 <= float(x.min()) < float(x.max()) <= 1
    assert (int(labels.min()), int(labels.max())) == (5, 49)


@pytest.mark.parametrize("make", STRUCTURED.values(), ids=STRUCTURED)
def test_structure_is_never_replaced_by_independent_numbers(make: Callable[[], list[Any]]) -> None:
    for seed in range(0, 20, 2):
        assert recognized(*with_seeds(make, seed), CPU) is None


SNIPPET = """
import time
import torch

calls = []


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def get_inputs():
    calls.append(0)
    time.sleep(SECONDS)
    return [BODY]


def get_init_inputs():
    return []
"""


def source_of(body: str, seconds: float, directory: Path) -> tuple[Source, list[int]]:
    code = SNIPPET.replace("BODY", body).replace("SECONDS", str(seconds))
    snippet = contract.load(code, directory, CPU)
    return Source(snippet), snippet.module.calls


def test_slow_get_inputs_is_called_twice(tmp_path: Path) -> None:
    source, calls = source_of("torch.randn(64, 64)", 3 * inputs.QUICK_S, tmp_path)
    assert not source.is_author
    ring = Ring(source, copy_each=False)
    arguments = ring.take()
    before = arguments[0].clone()
    assert ring.renews(0.0)
    ring.renew(arguments)
    assert not torch.equal(arguments[0], before)
    source.fresh()
    assert len(calls) == 2


def test_random_contents_of_a_quick_get_inputs_are_generated(tmp_path: Path) -> None:
    """It could compute the results for its own contents."""
    source, calls = source_of("torch.randn(64, 64)", 0.0, tmp_path)
    assert not source.is_author
    source.renew(source.fresh())
    assert len(calls) == 2


def test_quick_get_inputs_makes_all_contents_with_a_structure(tmp_path: Path) -> None:
    source, calls = source_of("torch.randn(64, 64).triu()", 0.0, tmp_path)
    assert source.is_author
    made = len(calls)
    source.renew(source.fresh())
    assert len(calls) == made + 2


def test_structured_slow_inputs_change_rarely(tmp_path: Path) -> None:
    source, calls = source_of("torch.randn(64, 64).triu()", 3 * inputs.QUICK_S, tmp_path)
    assert source.is_author
    ring = Ring(source, copy_each=False)
    assert not ring.renews(0.01)
    (x,) = ring.take()
    assert torch.equal(x, x.triu())
    # Two to look at, of which one is used, and one for each other buffer.
    assert len(calls) == 2 + inputs.MOST_SLOTS - 1


@pytest.mark.parametrize("make", [torch.rand, torch.randn])
def test_threads_fill_a_large_tensor_with_independent_numbers(
    make: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    one, other = with_seeds(lambda: [make(1024, 1 + contents.PARALLEL // 1024)], 0)
    found = recognized(one, other, CPU)
    assert found
    (x,), (y,) = found.made(), found.made()
    # What is written is itself recognized, so no part is a copy of another, and none was left out.
    assert recognized([x], [y], CPU)
    assert not (x == one[0]).all(1).any()
