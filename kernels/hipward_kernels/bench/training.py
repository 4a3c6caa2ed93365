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
from torch.nn import functional as F

from hipward_kernels.bench.core import OURS, RESULTS, RULE
from hipward_kernels.bench.op_cases import (
    LIGER,
    LIGER_FUNCTIONS,
    LIGER_HELP,
    QUACK,
    QUACK_HELP,
    MissingRivalError,
    liger_function,
    liger_version,
    quack_function,
    quack_has,
    quack_version,
)
from hipward_kernels.bench.ops import shape_from
from hipward_kernels.bench.perftest import clock_of
from hipward_kernels.bench.results import Conditions, append_rows, conditions_of
from hipward_kernels.dispatch.registry import EAGER, only
from hipward_kernels.gpu.devices import flush_bytes
from hipward_kernels.harness.environment import environment
from hipward_kernels.harness.sampling import median_interval
from hipward_kernels.numerics.distance import root_mean_square
from hipward_kernels.ops import add_rmsnorm, gelu_mul, layernorm, rmsnorm, silu_mul, softmax, swiglu, training

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

EPS = 1e-6
ROWS = (512, 2048, 8192, 16384)
COLUMNS = (2048, 2880, 4096, 5120, 8192, 11008, 14336, 28672)

HOST_STEPS = 200
HOST_ROUNDS = 5
WARM_STEPS = 3

ERROR = {torch.bfloat16: 2.5e-3, torch.float16: 4e-4, torch.float32: 1e-6}
"""Largest relative error of a gradient, as a root mean square: each is rounded once."""

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


@dataclass(frozen=True)
class Case:
    """One op at one shape."""

    op: str
    shape: tuple[int, int]
    dtype: torch.dtype
    device: torch.device

    def leaves(self) -> tuple[Tensor, ...]:
        """The arguments, which require a gradient."""
        shapes: list[tuple[int, ...]] = [self.shape, self.shape[1:]]
        if self.op == "add_rmsnorm":
            shapes = [self.shape, self.shape, self.shape[1:]]
        if self.op in ("silu_mul", "gelu_mul"):
            shapes = [self.shape, self.shape]
        if self.op == "layernorm":
            shapes += [self.shape[1:]]
        if self.op == "softmax":
            shapes = [self.shape]
        if self.op == "swiglu":
            shapes = [(self.shape[0], 2 * self.shape[1])]
        return tuple(torch.randn(one, dtype=self.dtype, device=self.device, requires_grad=True) for one in shapes)

    def gradients(self) -> tuple[Tensor, ...]:
        """Gradients of the outputs."""
        count = 2 if self.op == "add_rmsnorm" else 1
        return tuple(torch.randn(self.shape, dtype=self.dtype, device=self.device) for _ in range(count))

    def variants(self, without: Sequence[str]) -> dict[str, Callable[..., Any]]:
        """Ours and its rivals, by name.

        Raises:
            MissingRivalError: A package is missing, and not left out.
        """
        ours, torch_name, torch_op = VARIANTS[self.op]
        found = {OURS: ours, torch_name: torch_op}
        if LIGER not in without and self.device.type == "cuda" and self.op in LIGER_FUNCTIONS:
            found["Liger"] = liger_function(self.op)
        if QUACK not in without and quack_has(self.op, self.device):
            found["quack"] = quack_function(self.op)
        return found


def _add_then_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    total = x + residual
    return F.rms_norm(total, total.shape[-1:], weight, EPS), total


def _halves(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


VARIANTS: Mapping[str, tuple[Callable[..., Any], str, Callable[..., Any]]] = {
    "rmsnorm": (
        lambda x, weight: rmsnorm(x, weight, EPS),
        "F.rms_norm",
        lambda x, weight: F.rms_norm(x, x.shape[-1:], weight, EPS),
    ),
    "add_rmsnorm": (
        lambda x, residual, weight: add_rmsnorm(x, residual, weight, EPS),
        "add, F.rms_norm",
        _add_then_rms_norm,
    ),
    "layernorm": (
        lambda x, weight, bias: layernorm(x, weight, bias, EPS),
        "F.layer_norm",
        lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, EPS),
    ),
    "softmax": (softmax, "F.softmax", lambda x: F.softmax(x, -1)),
    "swiglu": (swiglu, "chunk, F.silu, mul", _halves),
    "silu_mul": (silu_mul, "F.silu, mul", lambda gate, up: F.silu(gate) * up),
    "gelu_mul": (gelu_mul, "F.gelu, mul", lambda gate, up: F.gelu(gate, approximate="tanh") * up),
}
"""By op: ours, and the name and function of the fewest ops of PyTorch."""


def step(call: Callable[..., Any], leaves: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Forward and backward, from leaves without gradients."""
    for leaf in leaves:
        leaf.grad = None
    outputs = call(*leaves)
    torch.autograd.backward(outputs if isinstance(outputs, tuple | list) else (outputs,), gradients)


def check(case: Case, leaves: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Ends the run if a gradient of ours is wrong."""
    ours = VARIANTS[case.op][0]
    step(ours, leaves, gradients)
    got = [leaf.grad for leaf in leaves]
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    with only(EAGER):
        step(ours, wide, [gradient.double() for gradient in gradients])
    for mine, leaf in zip(got, wide, strict=True):
        assert mine is not None  # noqa: S101 - for the type checker
        assert leaf.grad is not None  # noqa: S101
        error = root_mean_square(mine.double() - leaf.grad) / root_mean_square(leaf.grad)
        allowed = ERROR[case.dtype] * (SUM_ROUNDED if case.op == "add_rmsnorm" else 1)
        if not error <= allowed:
            sys.exit(f"{case}: a gradient has the error {error:.3g}; {allowed:.3g} is allowed")


def times(
    variants: Mapping[str, Callable[..., Any]], leaves: Sequence[Tensor], gradients: Sequence[Tensor], samples: int
) -> dict[str, list[float]]:
    """Microseconds of `samples` steps of each variant, on a GPU, in random order."""
    flush = torch.empty(flush_bytes(leaves[0].device), dtype=torch.uint8, device=leaves[0].device)
    order, taken = random.Random(0), {name: list[float]() for name in variants}  # noqa: S311 - only shuffles
    for call in variants.values():
        for _ in range(WARM_STEPS):
            step(call, leaves, gradients)
    for _ in range(samples):
        for name in order.sample(list(variants), len(variants)):
            flush.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            start.record()
            step(variants[name], leaves, gradients)
            end.record()
            end.synchronize()
            taken[name].append(start.elapsed_time(end) * 1e3)
    return taken


def host_times(
    variants: Mapping[str, Callable[..., Any]], leaves: Sequence[Tensor], gradients: Sequence[Tensor]
) -> dict[str, float]:
    """Microseconds that the host needs for a step of each variant."""
    rounds = {name: list[float]() for name in variants}
    for _ in range(HOST_ROUNDS):
        for name, call in variants.items():
            for _ in range(WARM_STEPS):
                step(call, leaves, gradients)
            torch.cuda.synchronize()
            started = perf_counter()
            for _ in range(HOST_STEPS):
                step(call, leaves, gradients)
            rounds[name].append((perf_counter() - started) / HOST_STEPS * 1e6)
            torch.cuda.synchronize()
    return {name: median(found) for name, found in rounds.items()}


def measure(case: Case, samples: int, without: Sequence[str] = (), *, host: bool = False) -> list[Measurement]:
    """Checks and times every variant of a case."""
    variants = case.variants(without)
    leaves, gradients = case.leaves(), case.gradients()
    check(case, leaves, gradients)
    taken = times(variants, leaves, gradients, samples)
    on_host = host_times(variants, leaves, gradients) if host else {}
    middles = {name: median_interval(found) for name, found in taken.items()}
    best = min(middle for name, (middle, _, _) in middles.items() if name != OURS)
    names = [name for name in variants if name not in (OURS, "Liger", "quack")]
    if case.op in LIGER_FUNCTIONS:
        names.append(f"Liger {liger_version()}" if "Liger" in variants else "without Liger")
    if quack_has(case.op, case.device):
        names.append(f"quack {quack_version()}" if "quack" in variants else "without quack")
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
            rivals=", ".join(names),
        )
        for name, (middle, low, high) in middles.items()
    ]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m hipward_kernels.bench.training", description=__doc__, epilog=f"{LIGER_HELP} {QUACK_HELP}"
    )
    made.add_argument("--op", default="rmsnorm", help=f"ops, separated by commas: {', '.join(VARIANTS)}")
    made.add_argument("--dtype", default="bfloat16", help="dtypes, separated by commas")
    made.add_argument("--shape", action="append", help="ROWSxCOLUMNS instead of the whole grid; may be repeated")
    made.add_argument("--samples", type=int, default=40, help="timed steps of each variant (default: %(default)s)")
    made.add_argument("--without", action="append", default=[], choices=[LIGER, QUACK], help="a rival to leave out")
    made.add_argument("--results", type=Path, default=RESULTS / "training.csv", help="CSV to append to")
    return made


def main() -> None:
    """Entry point."""
    made = arguments()
    options = made.parse_args()
    if not torch.cuda.is_available():
        made.error("there is no GPU here; a training step of the fused ops needs one")
    device = torch.device("cuda", torch.cuda.current_device())
    shapes = [shape_from(shape) for shape in options.shape or ()]
    shapes = shapes or [(rows, columns) for rows in ROWS for columns in COLUMNS]
    conditions = asdict(conditions_of(environment(device, clock_of(device), RULE)))
    conditions |= {"stop_rule": f"{options.samples} steps of each variant, interleaved", "clock": "device events"}
    print(conditions["device"], "compiled steps:", training.module() is not None)
    for op in options.op.split(","):
        for dtype in options.dtype.split(","):
            for index, shape in enumerate(shapes):
                case = Case(op, shape, getattr(torch, dtype), device)
                try:
                    measured = measure(case, options.samples, options.without, host=index == 0)
                except MissingRivalError as error:
                    made.error(str(error))
                append_rows(options.results, FIELDS, [Row(**asdict(m), **conditions) for m in measured])
                texts = [f"{m.variant} {m.step_us:.1f}" for m in measured]
                hosts = [f"host {m.host_us:.1f}" for m in measured if m.host_us is not None]
                print(op, dtype, measured[0].shape, f"{measured[0].against_best:.3f}", *texts, *hosts, flush=True)


if __name__ == "__main__":
    main()
