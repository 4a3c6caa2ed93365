"""Compiles every kernel to AMD machine code with the launch parameters of each GPU, and checks the code.

No GPU is needed. Good is: 16-byte loads, nothing spilled to memory, and enough whole workgroups on a compute unit to
hide memory's latency, by the floor that `amd_report.py` derives for the op and shape.
"""

from __future__ import annotations

from typing import Any

import pytest

from hipward_kernels.bench.amd_report import REPORT, Kernel, kernels, read, row

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
        assert made.loads_16 > 0, made
        assert made.loads_narrower <= kernel.narrow, made
        assert made.stores_16 > 0 or kernel.stores_numbers, made
        line = published.get((made.name, made.threads))
        assert line is not None, f"{made.name} is not in {REPORT.name}: python -m hipward_kernels.bench.amd_report"
        # Another compiler may use other registers; the floors above hold for it all the same.
        assert line == made or line.compiler != made.compiler, (
            f"renew {REPORT.name}: python -m hipward_kernels.bench.amd_report"
        )


def test_report_has_no_removed_kernel(published: dict[tuple[Any, ...], Any]) -> None:
    assert len(published) == sum(len(kernel.archs) for kernel in KERNELS)
