"""Compiles every kernel to AMD machine code with the launch parameters of each GPU, and checks the code.

No GPU is needed. Good is: 16-byte loads, nothing spilled to memory, and enough whole workgroups on a compute unit to
hide memory's latency, by the floor that `amd_report.py` derives for the op and shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hipward_kernels.bench.amd_report import REPORT, WAVEFRONT, Kernel, kernels, older, read, row
from hipward_kernels.bench.before import beside, kept
from hipward_kernels.ops.launch import resident_workgroups
from hipward_kernels.ops.row_plan import BLOCK_THREADS

if TYPE_CHECKING:
    from pathlib import Path

KERNELS = list(kernels())


def name(kernel: Kernel) -> str:
    return f"{kernel.op}-{kernel.tier}-{kernel.name}-{kernel.dtype}-{kernel.shape}"


@pytest.fixture(scope="module")
def published() -> dict[tuple[Any, ...], Any]:
    return {(line.name, line.threads): line for line in read(REPORT)}


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_machine_code(kernel: Kernel, published: dict[tuple[Any, ...], Any]) -> None:
    # The code of both 16-bit types differs in conversions only.
    for arch in kernel.archs if kernel.dtype != "fp16" else ("gfx942",):
        made = row(kernel, arch)
        assert made.spills == 0, made
        assert made.fills, made
        assert made.loads_16 > 0 or kernel.reads_numbers, made
        assert made.loads_narrower <= kernel.narrow, made
        assert made.stores_16 > 0 or kernel.stores_numbers, made
        line = published.get((made.name, made.threads))
        assert line is not None, f"{made.name} is not in {REPORT.name}: python -m hipward_kernels.bench.amd_report"
        # Another compiler may use other registers; the floors above hold for it all the same.
        assert [line] == beside([made], kept([line])) or line.compiler != made.compiler, (
            f"renew {REPORT.name}: python -m hipward_kernels.bench.amd_report"
        )


def test_report_has_no_removed_kernel(published: dict[tuple[Any, ...], Any]) -> None:
    assert len(published) == sum(len(kernel.archs) for kernel in KERNELS)


def test_older_numbers_stand_beside_those_of_the_same_kernel(tmp_path: Path) -> None:
    table = tmp_path / "older.csv"
    table.write_text(
        "op,tier,kernel,dtype,shape,arch,compiler,threads,vgprs,lds_bytes,spills,occupancy,occupancy_floor,loads_16,"
        "loads_narrower,stores_16\nsilu_mul,hip,forward,bf16,any,gfx942,clang 21,256,35,0,0,7,3,2,1,1\n"
    )
    lines = [line for line in read(REPORT) if line.op == "silu_mul" and line.tier == "hip" and line.dtype == "bf16"]
    made = {line.key: line for line in beside(lines, older(table))}
    with_older = made.pop(("silu_mul", "hip", "forward", "bf16", "any", "gfx942"))
    assert (with_older.vgprs_before, with_older.waves_per_simd_before) == (35, 7)
    assert (with_older.loads_16_before, with_older.loads_narrower_before) == (2, 1)
    assert list(made.values()) == [line for line in lines if line.key != with_older.key]


def test_report_shows_the_numbers_before_the_kernels_were_planned_for_amd(
    published: dict[tuple[Any, ...], Any],
) -> None:
    lines = [line for line in published.values() if line.vgprs_before is not None]
    assert {line.op for line in lines} >= {"rmsnorm", "add_rmsnorm", "silu_mul", "gelu_mul", "rope", "cross_entropy"}
    assert any(line.loads_16 != line.loads_16_before for line in lines)


def test_backward_of_a_norm_has_no_more_workgroups_than_run_at_once_and_enough_for_the_memory(
    published: dict[tuple[Any, ...], Any],
) -> None:
    for line in published.values():
        if line.op in ("rmsnorm", "add_rmsnorm", "layernorm") and line.kernel in ("backward", "backward_kernel"):
            planned = resident_workgroups(line.threads)
            # LayerNorm of short rows has more registers, so that some of its workgroups wait.
            waits = line.op == "layernorm" and line.threads == BLOCK_THREADS
            assert planned <= line.workgroups * (2 if waits else 1), line
            assert planned * line.threads // WAVEFRONT >= line.waves_floor, line
