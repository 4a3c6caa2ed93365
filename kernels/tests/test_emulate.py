"""Runs Triton and HIP kernels as AMD machine code in the emulator, and compares them with the definitions of the ops.

No GPU is needed. `test_amd_code.py` compiles the kernels with the launch parameters of the shapes that matter for
speed; here they run at small sizes that are not multiples of a block. HIPWARD_EMULATE_ALL=1 runs every case.
"""

from __future__ import annotations

import os

import pytest
import torch
from op_cases import CASES, LONG_CASES, Case, assert_agrees, row_cases

from hipward_kernels.compile.tiny import tiny_kernel
from hipward_kernels.emulate import EmulationError, hip_on, launch, run, triton_on
from hipward_kernels.gpu.facts import archs
from hipward_kernels.quantization.eager import SMALLEST_SCALE
from hipward_kernels.quantization.triton import column_block, quantize_kernel

ARCHS = ("gfx90a", "gfx942", "gfx950")
TOLERANCE = {torch.float32: 3e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

EVERYTHING = os.environ.get("HIPWARD_EMULATE_ALL") == "1"
"""Whether every case runs on every architecture in every dtype, which takes several minutes."""

EDGES = (
    "rmsnorm 3x31",
    "layernorm 9x4097",
    "softmax 3x31",
    "gelu_mul 9x4097",
    "qkv_rope half 2 heads",
    "5x33 none",
)
"""Cases that run on every architecture in bfloat16: tails, and rows of more than one block."""

COMBINATIONS = [
    pytest.param(case, arch, dtype, id=f"{case} {arch} {dtype}".replace("torch.", ""))
    for number, case in enumerate([*CASES, *LONG_CASES])
    for arch in ARCHS
    for dtype in TOLERANCE
    if EVERYTHING
    or (any(edge in str(case) for edge in EDGES) and dtype is torch.bfloat16)
    or (number % 9 == 0 and arch == "gfx942" and dtype is torch.float32)
]


def check(case: Case, arch: str, dtype: torch.dtype) -> None:
    with triton_on(arch) as reports:
        assert_agrees(case, "triton", dtype, "cpu", TOLERANCE[dtype])
    findings = [finding for report in reports for finding in report.findings]
    assert not findings, findings
    assert reports or not all(leaf.numel() for leaf in case.leaves()), "no kernel ran"


@pytest.mark.parametrize(("case", "arch", "dtype"), COMBINATIONS)
def test_machine_code_matches_the_definition(case: Case, arch: str, dtype: torch.dtype) -> None:
    check(case, arch, dtype)


HIP_CASES = list(row_cases([(1, 8), (3, 24), (2, 1032), (70, 16), (1, 4088)]))
"""Rows of whole vectors: one vector, tails of a wavefront and of a workgroup, and several rows for each workgroup."""

HIP_EDGES = (
    "halves",
    "3 heads of 16, 8 pairs",
    "64 wide, one row for all",
    "6x1024 mean",
    "3x32000 none",
)
"""Cases of all tiers that the HIP kernels take: strided views, and rows of more than one workgroup."""

HIP_COMBINATIONS = [
    pytest.param(case, arch, dtype, id=f"{case} {arch} {dtype}".replace("torch.", ""))
    for number, case in enumerate([*HIP_CASES, *CASES])
    if case in HIP_CASES or any(edge in str(case) for edge in HIP_EDGES) or EVERYTHING
    for place, (arch, dtype) in enumerate((arch, dtype) for arch in ARCHS for dtype in TOLERANCE)
    # Each case runs in one of the nine combinations, and rows in bfloat16 on every architecture.
    if EVERYTHING or number % 9 == place or (case in HIP_CASES and dtype is torch.bfloat16)
]


@pytest.mark.parametrize(("case", "arch", "dtype"), HIP_COMBINATIONS)
def test_hip_machine_code_matches_the_definition(case: Case, arch: str, dtype: torch.dtype) -> None:
    with hip_on(arch) as reports:
        assert_agrees(case, "hip", dtype, "cpu", TOLERANCE[dtype])
    findings = [finding for report in reports for finding in report.findings]
    assert not findings, findings
    assert reports or EVERYTHING, "no kernel ran"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("columns", [1, 31, 256, 4097])
def test_quantization_rounds_like_pytorch(arch: str, columns: int) -> None:
    torch.manual_seed(0)
    dtype = {"fnuz": torch.float8_e4m3fnuz, "ocp": torch.float8_e4m3fn}[archs()[arch].fp8 or "ocp"]
    x = torch.randn(3, columns)
    values = torch.zeros(3, columns, dtype=dtype)
    scales = torch.zeros(3, 1)
    largest = torch.finfo(dtype).max
    block = column_block(columns)
    arguments = (x, values, scales, x.stride(0), columns, largest, SMALLEST_SCALE)
    report = launch(arch, quantize_kernel, (3,), arguments, {"BLOCK": block}, max(block // 1024, 1))
    assert not report.findings
    wanted = (x.abs().amax(1, keepdim=True) / largest).clamp(min=SMALLEST_SCALE)
    torch.testing.assert_close(scales, wanted, rtol=1e-6, atol=0)
    torch.testing.assert_close(values.float(), (x / scales).clamp(-largest, largest).to(dtype).float(), rtol=0, atol=0)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_spilled_registers_keep_their_values(arch: str) -> None:
    x = torch.arange(65536, dtype=torch.float32)
    report = launch(arch, tiny_kernel, (1,), (x,), {"BLOCK": 65536}, 1)
    assert not report.findings
    torch.testing.assert_close(x, torch.arange(65536) + 1.0, rtol=0, atol=0)


def test_access_past_the_end_is_found() -> None:
    x = torch.zeros(50)
    report = launch("gfx942", tiny_kernel, (1,), (x,), {"BLOCK": 64}, 1)
    assert {finding.kind for finding in report.findings} == {"out-of-bounds"}
    assert report.findings[0].source == "tiny.py:13"
    assert x.eq(1).all()


def test_counts_are_those_of_the_launch() -> None:
    report = launch("gfx942", tiny_kernel, (4,), (torch.zeros(64),), {"BLOCK": 64}, 1)
    loads = [access for access in report.counts["accesses"] if access["executions"] == 4 and access["bytes"] == 4 * 256]
    assert [access["segments64"] for access in loads] == [16, 16]
    assert report.counts["instructions"]["vector-memory"] == 8


def test_unknown_instructions_are_errors() -> None:
    listing = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n'
    with pytest.raises(EmulationError, match="line 1: gfx1100 cannot be executed"):
        run(listing, [], (1, 1, 1), (64, 1, 1))
