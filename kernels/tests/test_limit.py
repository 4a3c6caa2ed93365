"""The limit of an error: what rounding explains, and no more."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from hipward_kernels.harness import contract, precision
from hipward_kernels.harness.reference import Reference
from hipward_kernels.harness.trials import Trials
from hipward_kernels.numerics.limit import LONGEST_ROW, Limit, coarsest, rounding, unit_roundoff
from hipward_kernels.numerics.sums import with_longest_sum

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "kernels" / "examples").glob("*.py"))
LOW = (torch.bfloat16, torch.float16)


def test_rounding_allowance_follows_dtype_and_sum_length() -> None:
    assert unit_roundoff(torch.float32) == 2**-24
    assert unit_roundoff(torch.bfloat16) == 2**-8
    assert unit_roundoff(torch.int64) == 0
    assert rounding(torch.float32, 1) == 1.5 * 2**-24
    assert rounding(torch.float32, 4096) == 33 * 2**-24
    assert rounding(torch.bfloat16, 4096) == 2**-8 + 32 * 2**-24, "sums of 16-bit numbers are accumulated in float32"
    assert rounding(torch.float64, 4096) == 33 * 2**-53
    assert coarsest([torch.float32, torch.bfloat16, torch.float8_e4m3fn]) is torch.bfloat16


def test_without_a_finer_reference_eager_may_have_rounding_errors() -> None:
    known = Limit(1024, torch.bfloat16)
    unknown = Limit(1024, torch.bfloat16, None)
    slack = rounding(torch.bfloat16, 1024)
    assert known.allowed(torch.bfloat16, 0.0, 2.0) == 2 * slack
    assert unknown.allowed(torch.bfloat16, 0.0, 2.0) == 3 * 2 * slack


X = torch.randn(3, 64, dtype=torch.float64)
Q = torch.randn(1, 2, 128, 16)


@pytest.mark.parametrize(
    ("call", "length"),
    [
        (lambda: X * X + 1, 1),
        (lambda: X @ X.T, 64),
        (lambda: X @ X[0], 64),
        (lambda: F.linear(torch.randn(2, 5, 8192), torch.randn(4, 8192)), 8192),
        (lambda: F.conv2d(torch.randn(1, 8, 9, 9), torch.randn(4, 8, 3, 3)), 72),
        (lambda: X.mean(-1), 64),
        (X.sum, 192),
        (lambda: X.softmax(-1), 64),
        (lambda: X.softmax(0), 3),
        (lambda: X.cumsum(-1), 64),
        (lambda: F.layer_norm(X, (64,)), 64),
        (lambda: F.group_norm(torch.randn(2, 8, 5), 4), 10),
        (lambda: F.scaled_dot_product_attention(Q, Q, Q), 256),
        (lambda: F.cross_entropy(X, torch.arange(3)), 64),
        (lambda: nn.LSTM(16, 32)(torch.randn(4, 1, 16)), 32),
        (lambda: torch.randn(1 << 16).sum(), LONGEST_ROW),
        (lambda: torch.randn(1 << 20).sum(), 1 << 16),
        (lambda: X[:, :1].expand(3, 64), 1),
        (lambda: torch.linalg.solve(torch.eye(3) * 2, torch.ones(3)), LONGEST_ROW),
        (lambda: 1 / (not _get_current_dispatch_mode_stack()), LONGEST_ROW),
    ],
)
def test_longest_sum_of_a_computation_is_found(call: Callable[[], Any], length: int) -> None:
    _, found = with_longest_sum(call)
    assert found == length or (length == 32 and found == LONGEST_ROW), "an LSTM may be one op or many"


def test_sequential_sum_passes_beside_a_tree_reduction() -> None:
    generator = torch.Generator().manual_seed(0)
    for count in (256, 4096):
        x, y = torch.randn(2, 512, count, generator=generator)
        for terms in (x * y, x * x):
            exact = terms.double().sum(-1)
            # NumPy adds up in order; PyTorch does so in float64.
            in_order = torch.from_numpy(terms.numpy().cumsum(1, dtype="float32")[:, -1])
            tree, loop = (float((got.double() - exact).square().mean().sqrt()) for got in (terms.sum(-1), in_order))
            size = float(exact.square().mean().sqrt())
            limit = Limit(count).allowed(torch.float32, tree, size)
            assert 0.3 * limit < loop < limit, "the least accurate usual order takes a good part of the limit"
            assert loop > 3 * tree


def load(path: Path) -> Any:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module  # Its dataclasses look for it.
    specification.loader.exec_module(module)
    return module


def test_lesson_states_the_same_limit() -> None:
    gate = load(ROOT / "content" / "02-baseline" / "01-precision-before-speed" / "gate.py")
    for dtype in (torch.float64, torch.float32, *LOW):
        for length in (1, 64, 4096, 100_000):
            assert gate.rounding(dtype, length) == rounding(dtype, length)


# The gate itself, on the examples.


class Snippet:
    """Model and inputs of an example, in a dtype."""

    device = torch.device("cpu")

    def __init__(self, path: Path, dtype: torch.dtype) -> None:
        self.path = path
        self.module = load(path)
        self.dtype = dtype

    def build(self, name: str = "Model") -> nn.Module:
        torch.manual_seed(0)
        model: nn.Module = getattr(self.module, name)(*self.module.get_init_inputs())
        return model.to(self.dtype)

    def inputs(self, seed: int) -> list[Tensor]:
        contract.seed_everything(seed)
        return [x.to(self.dtype) for x in self.module.get_inputs()]


def trials_of(path: Path, dtype: torch.dtype) -> tuple[Snippet, Trials]:
    snippet = Snippet(path, dtype)
    model = snippet.build()
    reference = Reference(model, snippet.build, snippet.inputs(0))
    return snippet, Trials(snippet, model, reference)  # type: ignore[arg-type]


class AnotherOrder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the terms of each product in another order."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in ("mm", "bmm"):
            order = torch.randperm(args[0].shape[-1])
            return func(args[0][..., order], args[1].index_select(-2, order))
        return func(*args, **(kwargs or {}))


class Coarse(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Rounds the factors of each product to TF32's 10 bits of mantissa."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def rounded(x: Any) -> Any:
            bits = x.contiguous().view(torch.int32)
            return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).view(x.shape)

        if func.overloadpacket.__name__ in ("mm", "bmm"):
            return func(*(rounded(x) for x in args))
        return func(*args, **(kwargs or {}))


def under(mode: type[TorchDispatchMode], model: nn.Module) -> Callable[..., Any]:
    def call(*arguments: Tensor) -> Any:
        with mode():
            return model(*arguments)

    return call


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("dtype", [torch.float32, *LOW], ids=str)
def test_good_candidates_pass_with_margin(path: Path, dtype: torch.dtype) -> None:
    snippet, trials = trials_of(path, dtype)
    wide = snippet.build().float()
    candidates: dict[str, Callable[..., Any]] = {
        "eager": snippet.build(),
        "terms in another order": under(AnotherOrder, snippet.build()),
        "float32 inside, rounded once": lambda *arguments: wide(*(x.float() for x in arguments)).to(dtype),
    }
    if hasattr(snippet.module, "ModelNew"):
        candidates["ModelNew"] = snippet.build("ModelNew")
    for name, call in candidates.items():
        found = precision.check(call, trials)
        assert found.passed, (name, found.reason)
        used = found.outputs[0].limit_used
        assert used is not None
        assert used < 0.6, (name, "a limit that good candidates nearly reach would refuse some of them")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("dtype", [torch.float32, *LOW], ids=str)
def test_hundred_times_the_error_of_eager_is_rejected(path: Path, dtype: torch.dtype) -> None:
    snippet, trials = trials_of(path, dtype)
    model = snippet.build()
    own = precision.check(model, trials).outputs[0].rms

    def worse(*arguments: Tensor) -> Tensor:
        exact: Tensor = trials.reference(list(arguments), 0)["0"]
        return (exact + 100 * own * torch.randn(exact.shape, dtype=torch.float64)).to(dtype)

    found = precision.check(worse, trials)
    assert not found.passed
    used = found.outputs[0].limit_used
    assert used is not None
    assert used > 3, "not even nearly"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_float32_model_computed_in_lower_precision_is_rejected(path: Path) -> None:
    snippet, trials = trials_of(path, torch.float32)
    low = snippet.build().bfloat16()
    assert not precision.check(lambda *arguments: low(*(x.bfloat16() for x in arguments)).float(), trials).passed
    if path.stem != "rmsnorm":  # It has no product.
        assert not precision.check(under(Coarse, snippet.build()), trials).passed


class Loss(nn.Module):
    """One number: eager's may be right by chance."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 100))

    def forward(self, x: Tensor) -> Tensor:
        return F.cross_entropy(self.layers(x).float(), torch.arange(len(x)) % 100)


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_float32_loss_of_a_16_bit_model_may_have_a_16_bit_rounding_error(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = Loss().to(dtype)
    x = torch.randn(16, 64).to(dtype)
    limit = Reference(model, lambda: Loss().to(dtype), [x]).limit
    assert (limit.computed, limit.longest_sum) == (dtype, 100)
    assert limit.allowed(torch.float32, 0.0, 1.0) == pytest.approx(rounding(dtype, 100))
    assert not math.isclose(rounding(dtype, 100), rounding(torch.float32, 100))
