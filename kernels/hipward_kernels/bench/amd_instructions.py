"""Instructions that each op executes on AMD GPUs, as a table: `python -m hipward_kernels.bench.amd_instructions`.

Each op runs forward and backward in the emulator, in the Triton and in the HIP tier, on 32 rows of 4,096 columns in
bfloat16. The table is `results/amd_instructions.csv`; a test executes a part of it again and compares.

The columns `_before` are those of an older version of the kernels, from the table that was made there. They stay as
they are unless `--before` names another table.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hipward_kernels import ops
from hipward_kernels.bench.amd_report import PRODUCTS, WAVEFRONT, compiler, write
from hipward_kernels.bench.before import as_older, beside, kept
from hipward_kernels.emulate import Report, hip_on, triton_on
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

TABLE = Path(__file__).parents[2] / "results" / "amd_instructions.csv"
ROWS, COLUMNS = 32, 4096
QUERIES, KEYS, HEAD_DIM = 24, 4, 128
"""Heads of a row's queries, of its keys and of its values, and their length: as many numbers as columns."""
TIERS = {"hip": hip_on, "triton": triton_on}


@dataclass(frozen=True)
class Row:
    """A row of the table. The numbers are instructions of a wavefront for 64 elements: one of each lane's elements."""

    op: str
    tier: str
    kernel: str
    """File and name: `rmsnorm/hip.hip forward`."""
    arch: str
    compiler: str
    vector: float
    """Instructions of the vector units (VALU)."""
    lds: float
    """Accesses to LDS, and exchanges between lanes that go through it."""
    memory: float
    """Loads and stores."""
    vector_before: float | None = None
    lds_before: float | None = None
    memory_before: float | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the row in another version of the table."""
        return self.op, self.tier, self.kernel, self.arch


def cases() -> dict[str, Callable[[], Tensor]]:
    """The ops at the size of the table, by name."""
    torch.manual_seed(0)

    def leaf(*shape: int) -> Tensor:
        return torch.randn(*shape).to(torch.bfloat16).requires_grad_()

    x, y, weight, bias = leaf(ROWS, COLUMNS), leaf(ROWS, COLUMNS), leaf(COLUMNS), leaf(COLUMNS)
    labels = torch.randint(0, COLUMNS, (ROWS,))
    joined, heads = leaf(ROWS, 2 * COLUMNS), leaf(1, ROWS, COLUMNS // HEAD_DIM, HEAD_DIM)
    qkv, (cos, sin) = leaf(1, ROWS, COLUMNS), rope_table(ROWS, HEAD_DIM)
    return {
        "rmsnorm": lambda: ops.rmsnorm(x, weight),
        "add_rmsnorm": lambda: torch.cat(ops.add_rmsnorm(x, y, weight)),
        "layernorm": lambda: ops.layernorm(x, weight, bias),
        "softmax": lambda: ops.softmax(x),
        "silu_mul": lambda: ops.silu_mul(x, y),
        "gelu_mul": lambda: ops.gelu_mul(x, y),
        "swiglu": lambda: ops.swiglu(joined),
        "rope": lambda: ops.rope(heads, cos, sin),
        "qkv_rope": lambda: torch.cat(ops.qkv_rope(qkv, cos, sin, QUERIES, KEYS), 2),
        "cross_entropy": lambda: ops.cross_entropy(x, labels),
    }


def measure(op: str, tier: str, arch: str) -> list[Row]:
    """Executes an op forward and backward, and returns the row of each kernel."""
    call = cases()[op]
    with TIERS[tier](arch) as reports:
        call().sum().backward()  # type: ignore[no-untyped-call]
    forward, *rest = (_row(op, tier, arch, report) for report in reports)
    # The kernel of RoPE rotates back in the backward.
    return [
        forward,
        *(replace(row, kernel=f"{row.kernel}, inverse") if row.key == forward.key else row for row in rest),
    ]


def _row(op: str, tier: str, arch: str, report: Report) -> Row:
    executed, share = report.counts["instructions"], WAVEFRONT / (ROWS * COLUMNS)
    vector, lds, memory = (round(executed[kind] * share, 2) for kind in ("vector", "lds", "vector-memory"))
    return Row(op, tier, report.kernel, arch, compiler(tier), vector, lds, memory)


def read(path: Path) -> list[Row]:
    """Reads a table."""
    texts = {"op", "tier", "kernel", "arch", "compiler"}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(**{name: text if name in texts else float(text) if text else None for name, text in line.items()})  # type: ignore[arg-type]
            for line in csv.DictReader(file)
        ]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.bench.amd_instructions", description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLE, help="CSV file to write (default: %(default)s)")
    parser.add_argument("--before", type=Path, help="table of an older version, for the columns `_before`")
    options = parser.parse_args()
    rows = [row for op in cases() for tier in TIERS for arch in PRODUCTS for row in measure(op, tier, arch)]
    if options.before:
        rows = beside(rows, as_older(read(options.before)))
    elif options.out.exists():
        rows = beside(rows, kept(read(options.out)))
    write(rows, options.out)


if __name__ == "__main__":
    main()
