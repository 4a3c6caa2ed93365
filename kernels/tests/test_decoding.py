"""The kernels of a decoding step agree with their definitions: in the emulator on AMD machine code, and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from hipward_kernels import decoding
from hipward_kernels.decoding import plan
from hipward_kernels.dispatch.registry import only
from hipward_kernels.emulate import hip_on, triton_on
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ARCHS = ("gfx90a", "gfx942", "gfx950")
TOLERANCE = {torch.float32: 3e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
EPS = 1e-6


@dataclass(frozen=True)
class Step:
    """Sizes of one step."""

    batch: int
    hidden: int
    heads: int
    kv_heads: int
    features: int
    room: int
    position: int

    def __str__(self) -> str:
        return (
            f"{self.batch} of {self.hidden}, {self.heads}/{self.kv_heads} heads of {self.features}, "
            f"{self.position} of {self.room}"
        )


STEPS = (
    # One wave a row, with a tail; one query and one key.
    Step(1, 40, 2, 1, 16, 5, 0),
    # Several sequences and heads that share keys.
    Step(3, 256, 8, 2, 32, 9, 8),
    # As many sequences as the kernels take, and an odd number of heads.
    Step(8, 264, 3, 1, 64, 70, 65),
    # Two blocks share the positions of a head.
    Step(1, 48, 2, 1, 16, 600, 520),
)


def random(*shape: int) -> Tensor:
    return torch.randn(shape) / shape[-1] ** 0.5 if len(shape) == 2 else torch.randn(shape)


def parts(step: Step, layout: str) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Each part of a step with new arguments in float32."""
    torch.manual_seed(0)
    b, k = step.batch, step.hidden
    rows = (step.heads + 2 * step.kv_heads) * step.features
    x, residual, norm = random(b, 1, k), random(b, 1, k), torch.rand(k) + 0.5
    cos, sin = rope_table(step.room, step.features)
    caches = [random(b, step.room, step.kv_heads, step.features) for _ in range(2)]
    place = torch.tensor([step.position])
    return {
        "linear": (decoding.decode_linear, [x, random(37, k)]),
        "long rows": (decoding.decode_linear, [random(b, 1, 8200), random(5, 8200)]),
        "norm": (decoding.decode_norm_linear, [x, None, norm, EPS, random(13, k)]),
        "add, norm": (decoding.decode_norm_linear, [x, residual, norm, EPS, random(13, k)]),
        "swiglu": (decoding.decode_norm_swiglu, [x, residual, norm, EPS, random(2 * 19, k)]),
        "two results a thread": (decoding.decode_norm_swiglu, [x, residual, norm, EPS, random(2 * 4099, k)]),
        "qkv": (
            decoding.decode_norm_qkv,
            [x, residual, norm, EPS, random(rows, k), cos, sin, *caches, place, layout],
        ),
        "attention": (
            decoding.decode_attention,
            [random(b, 1, step.heads, step.features), *caches, place],
        ),
        "choose": (
            decoding.decode_choose,
            [
                # Each number is there several times: the first one counts.
                random(b, 1, 61).repeat(1, 1, 40),
                torch.zeros(b, 1, dtype=torch.int64),
                torch.zeros(b, step.room, dtype=torch.int64),
                place.clone(),
            ],
        ),
    }


def converted(arguments: Sequence[Any], dtype: torch.dtype, device: str) -> list[Any]:
    """Copies for a dtype and device; the tables of RoPE stay in float32."""
    return [
        (x.to(device, dtype) if x.is_floating_point() else x.to(device)).clone() if isinstance(x, Tensor) else x
        for x in arguments
    ]


def check(part: Callable[..., Any], arguments: Sequence[Any], dtype: torch.dtype, device: str = "cpu") -> None:
    """Compares the HIP tier's results, and what is left in the arguments, with the definition in float64."""
    exact, given = (
        converted(converted(arguments, dtype, device), torch.float64, "cpu"),
        converted(arguments, dtype, device),
    )
    wanted = part(*exact)
    with only("hip"):
        got = part(*given)
    pairs = list(zip(got, wanted, strict=True)) if isinstance(got, tuple) else [(got, wanted)]
    pairs += [(mine, theirs) for mine, theirs in zip(given, exact, strict=True) if isinstance(mine, Tensor)]
    for mine, theirs in pairs:
        torch.testing.assert_close(mine.cpu().double(), theirs.double(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


KERNELS = {"attention": "attend", "choose": "choose"}
"""The kernel of a part; `product` of the others."""

NAMES = tuple(parts(STEPS[0], "half"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_machine_code_matches_the_definition(step: Step, name: str) -> None:
    shares = name == "attention" and step.room > plan.FEWEST_KEYS
    for number, arch in enumerate(ARCHS):
        # Each step has another dtype on each architecture. Only one step shares positions.
        dtypes = list(TOLERANCE)
        with hip_on(arch) as reports:
            for dtype in dtypes if shares else [dtypes[(number + STEPS.index(step)) % 3]]:
                check(*parts(step, ("half", "interleaved")[number % 2])[name], dtype)
        executed = {report.kernel.partition(" ")[2] for report in reports}
        assert executed == {KERNELS.get(name, "product"), *(["combine"] if shares else [])}
        assert not [finding for report in reports for finding in report.findings]


def test_parts_run_as_defined_while_triton_kernels_are_emulated() -> None:
    function, arguments = parts(STEPS[0], "half")["linear"]
    wanted = function(*arguments)
    with triton_on("gfx942") as reports:
        torch.testing.assert_close(function(*arguments), wanted)
    assert reports == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_kernels_match_the_definition(step: Step, name: str, dtype: torch.dtype) -> None:
    for layout in ("half", "interleaved"):
        check(*parts(step, layout)[name], dtype, "cuda")


def test_positions_are_shared_if_there_are_many_and_few_heads() -> None:
    assert plan.shared_heads(4, queries=32, units=132) == 1
    assert plan.shared_heads(6, queries=512, units=132) == 3
    assert plan.splits(rows=8, room=256, units=132) == 1
    assert plan.splits(rows=8, room=4096, units=132) == 16
    assert plan.splits(rows=256, room=4096, units=132) == 1
    assert plan.splits(rows=1, room=2**20, units=304) == plan.MOST_SPLITS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: torch.randn(2, 3, 40)}, r"x is \[2, 3, 40\]"),
        ({0: torch.randn(1, 1, 40).double()}, "float64"),
        ({1: torch.randn(1, 1, 32)}, "residual is"),
        ({4: torch.randn(65, 40)}, "weight has 65 rows"),
        ({5: torch.randn(5, 4), 6: torch.randn(5, 4)}, "or more, 8"),
        ({7: torch.randn(1, 5, 1, 8)}, "keys is|keys are"),
        ({9: torch.tensor([0.0])}, r"position is \[1\]"),
        ({10: "other"}, "layout is 'other'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_that_do_not_fit_are_errors(change: dict[int, Any], message: str) -> None:
    function, arguments = parts(STEPS[0], "half")["qkv"]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=message):
        function(*arguments)
