"""Benchmark of training steps of the ops: `python -m hipward_kernels.bench.training`, forward and backward of one op.

A step is timed with device events and cold caches, and includes the host's time wherever the host takes longer than the
device. The host's time is also measured alone, at the first shape. All variants of a shape are timed in random order in
the same rounds, and the gradients of ours are compared with those of the definition in float64 first. Rows are appended
to `results/training.csv`.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.bench.core import COMPILE, OURS, RESULTS, RULE
from hipward_kernels.bench.op_cases import OURS as OPS
from hipward_kernels.bench.op_cases import Case
from hipward_kernels.bench.ops import shape_from
from hipward_kernels.bench.perftest import clock_of
from hipward_kernels.bench.results import Conditions, append_rows, conditions_of
from hipward_kernels.bench.rivals import (
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    LIGER_HELP,
    OPTIONS,
    QUACK_HELP,
    MissingRivalError,
)
from hipward_kernels.dispatch.registry import EAGER, only
from hipward_kernels.gpu.devices import flush_bytes
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.numerics.distance import root_mean_square
from hipward_kernels.ops import training

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROWS = (512, 2048, 8192, 16384)
COLUMNS = (2048, 2880, 4096, 5120, 8192, 11008, 14336, 28672)

HOST_STEPS = 200
HOST_ROUNDS = 5
WARM_STEPS = 3

ERROR = {torch.bfloat16: 2.5e-3, torch.float16: 4e-4, torch.float32: 1e-6}
"""Largest relative error of a gradient, as a root mean square: each is rounded once."""

SUBNORMAL = 2**-24
"""The smallest number of float16, which rounds smaller gradients, those of softmax, to its multiples."""

SUM_ROUNDED = 1.5
"""The same for add+RMSNorm, as a multiple: the sum is rounded as well."""


@dataclass(frozen=True)
class Measurement:
    """The training step of one variant at one shape."""

    op: str
    variant: str
    shape: str
    dtype: str
    step_us: float
    """Median time of forward and backward."""
    low_us: float
    """Lower end of the median's 95 % confidence interval."""
    high_us: float
    samples: int
    host_us: float | None
    """Median time of the host for a step whose device time is shorter; measured at the first shape."""
    against_best: float
    """Time of the fastest rival of the same run divided by this one."""
    rivals: str


@dataclass(frozen=True)
class Row(Conditions, Measurement):
    """A measurement and its conditions."""


FIELDS = [field.name for field in fields(Row)]


def arguments_of(case: Case) -> tuple[Tensor, ...]:
    """Fresh arguments, of which those that a model learns or computes require a gradient."""
    # The tables of RoPE are constants.
    constants = 2 if case.op in ("rope", "qkv_rope") else 0
    made = case.arguments()
    for argument in made[: len(made) - constants]:
        argument.requires_grad_(argument.is_floating_point())
    return made


def gradients_of(case: Case, arguments: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Gradients of the outputs."""
    with torch.no_grad():
        outputs = _outputs(case.ours()(*arguments))
    return tuple(torch.randn_like(output) for output in outputs)


def variants_of(case: Case, without: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Ours and its rivals, by name.

    Raises:
        MissingRivalError: A package is missing, and not left out.
    """
    rivals = dict(case.rivals(without))
    own = rivals.pop(case.torch_op(), case.eager())
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's documented way to forget earlier compilations
    compiled = torch.compile(own, dynamic=False)
    return {OURS: case.ours(), COMPILE: compiled, case.torch_op(): own, **rivals}


def _outputs(result: Any) -> tuple[Tensor, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def step(call: Callable[..., Any], arguments: Sequence[Tensor], gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Forward and backward; the gradients of the arguments that require one.

    They are returned and not accumulated: PyTorch copies a gradient that two leaves share, such as that of a sum, but
    activations of a model are no leaves.
    """
    wanted = [argument for argument in arguments if argument.requires_grad]
    return torch.autograd.grad(_outputs(call(*arguments)), wanted, gradients)


def check(case: Case, arguments: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Ends the run if a gradient of ours is wrong."""
    found = step(case.ours(), arguments, gradients)
    wide = [
        argument.detach().double().requires_grad_(argument.requires_grad) if argument.is_floating_point() else argument
        for argument in arguments
    ]
    with only(EAGER):
        expected = step(case.ours(), wide, [gradient.double() for gradient in gradients])
    for mine, exact in zip(found, expected, strict=True):
        size = root_mean_square(exact)
        error = root_mean_square(mine.double() - exact) / size
        allowed = ERROR[case.dtype] * (SUM_ROUNDED if case.op == "add_rmsnorm" else 1)
        if case.dtype is torch.float16:
            allowed += SUBNORMAL / 2 / size
        if case.op == "cross_entropy":
            # Almost equal gradients at the labels are the largest, so their rounding errors are equal too.
            allowed = max(allowed, torch.finfo(case.dtype).eps / 2)
        if not error <= allowed:
            sys.exit(f"{case}: a gradient has the error {error:.3g}; {allowed:.3g} is allowed")


def _copies(arguments: Sequence[Tensor]) -> list[Tensor]:
    """A variant's own arguments: Liger's cross-entropy writes the gradient over the logits."""
    return [argument.detach().clone().requires_grad_(argument.requires_grad) for argument in arguments]


def times(
    variants: Mapping[str, Callable[..., Any]], arguments: Sequence[Tensor], gradients: Sequence[Tensor], samples: int
) -> dict[str, list[float]]:
    """Microseconds of `samples` steps of each variant, on a GPU, in random order."""
    device = gradients[0].device
    flush = torch.empty(flush_bytes(device), dtype=torch.uint8, device=device)
    own = {name: _copies(arguments) for name in variants}
    order, taken = random.Random(0), {name: list[float]() for name in variants}  # noqa: S311 - only shuffles
    for name, call in variants.items():
        for _ in range(WARM_STEPS):
            step(call, own[name], gradients)
    for _ in range(samples):
        for name in order.sample(list(variants), len(variants)):
            flush.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            start.record()
            step(variants[name], own[name], gradients)
            end.record()
            end.synchronize()
            taken[name].append(start.elapsed_time(end) * 1e3)
    return taken


def host_times(
    variants: Mapping[str, Callable[..., Any]], arguments: Sequence[Tensor], gradients: Sequence[Tensor]
) -> dict[str, float]:
    """Microseconds that the host needs for a step of each variant."""
    own = {name: _copies(arguments) for name in variants}
    rounds = {name: list[float]() for name in variants}
    for _ in range(HOST_ROUNDS):
        for name, call in variants.items():
            for _ in range(WARM_STEPS):
                step(call, own[name], gradients)
            torch.cuda.synchronize()
            started = perf_counter()
            for _ in range(HOST_STEPS):
                step(call, own[name], gradients)
            rounds[name].append((perf_counter() - started) / HOST_STEPS * 1e6)
            torch.cuda.synchronize()
    return {name: median(found) for name, found in rounds.items()}


def measure(case: Case, samples: int, without: Sequence[str] = (), *, host: bool = False) -> list[Measurement]:
    """Checks and times every variant of a case."""
    variants = variants_of(case, without)
    arguments = arguments_of(case)
    gradients = gradients_of(case, arguments)
    check(case, arguments, gradients)
    taken = times(variants, arguments, gradients, samples)
    on_host = host_times(variants, arguments, gradients) if host else {}
    middles = {name: median_interval(found) for name, found in taken.items()}
    best = min(middle for name, (middle, _, _) in middles.items() if name != OURS)
    return [
        Measurement(
            op=case.op,
            variant=name,
            shape="x".join(map(str, case.shape)),
            dtype=str(case.dtype).removeprefix("torch."),
            step_us=middle,
            low_us=low,
            high_us=high,
            samples=samples,
            host_us=on_host.get(name),
            against_best=best / middle,
            rivals=", ".join([COMPILE, case.torch_op(), *case.packages(without)]),
        )
        for name, (middle, low, high) in middles.items()
    ]


def shapes_of(op: str) -> list[tuple[int, int]]:
    """The op's grid."""
    fixed = {
        "rope": [(rows, HEADS * HEAD_DIM) for rows in (2048, 16384)],
        "qkv_rope": [(rows, (HEADS + 2 * KV_HEADS) * HEAD_DIM) for rows in (2048, 16384)],
        "cross_entropy": [(2048, 32000), (8192, 32000), (4096, 128256), (8192, 151936)],
    }
    return fixed.get(op, [(rows, columns) for rows in ROWS for columns in COLUMNS])


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m hipward_kernels.bench.training", description=__doc__, epilog=f"{LIGER_HELP} {QUACK_HELP}"
    )
    made.add_argument("--op", default="rmsnorm", help=f"ops, separated by commas: {', '.join(OPS)}")
    made.add_argument("--dtype", default="bfloat16", help="dtypes, separated by commas")
    made.add_argument(
        "--shape", type=shape_from, action="append", help="ROWSxCOLUMNS instead of the whole grid; may be repeated"
    )
    made.add_argument("--samples", type=int, default=40, help="timed steps of each variant (default: %(default)s)")
    made.add_argument("--without", action="append", default=[], choices=OPTIONS, help="a rival to leave out")
    made.add_argument("--results", type=Path, default=RESULTS / "training.csv", help="CSV to append to")
    return made


def main() -> None:
    """Entry point."""
    made = arguments()
    options = made.parse_args()
    ops, dtypes = options.op.split(","), options.dtype.split(",")
    if unknown := [op for op in ops if op not in OPS]:
        made.error(f"there is no op {', '.join(unknown)}; the ops are {', '.join(OPS)}")
    if unknown := [dtype for dtype in dtypes if getattr(torch, dtype, None) not in ERROR]:
        made.error(f"no gradients are compared in {', '.join(unknown)}; the dtypes are bfloat16, float16, float32")
    if not torch.cuda.is_available():
        made.error("there is no GPU here; a training step of the fused ops needs one")
    device = torch.device("cuda", torch.cuda.current_device())
    cases = [
        (index == 0, Case(op, shape, getattr(torch, dtype), device))
        for op in ops
        for dtype in dtypes
        for index, shape in enumerate(options.shape or shapes_of(op))
    ]
    try:
        # Checked before anything is measured: a comparison without its strongest rival would mislead.
        for op in ops:
            dict(Case(op, (1, 1), torch.float32, device).rivals(options.without))
    except MissingRivalError as error:
        made.error(str(error))
    conditions = asdict(conditions_of(environment(device, clock_of(device), RULE)))
    rule = f"{options.samples} steps of each variant, interleaved, gradients returned"
    conditions |= {"stop_rule": rule, "clock": "device events"}
    print(conditions["device"], "compiled steps:", training.module() is not None)
    for is_first, case in cases:
        measured = measure(case, options.samples, options.without, host=is_first)
        append_rows(options.results, FIELDS, [Row(**asdict(m), **conditions) for m in measured])
        texts = [f"{m.variant} {m.step_us:.1f}" for m in measured]
        hosts = [f"host {m.host_us:.1f}" for m in measured if m.host_us is not None]
        print(
            case.op, measured[0].dtype, measured[0].shape, f"{measured[0].against_best:.3f}", *texts, *hosts, flush=True
        )


if __name__ == "__main__":
    main()
