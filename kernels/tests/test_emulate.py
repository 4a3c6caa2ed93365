"""Runs Triton and HIP kernels as AMD machine code in the emulator, and compares them with the definitions of the ops.

No GPU is needed. `test_amd_code.py` compiles the kernels with the launch parameters of the shapes that matter for
speed; here they run at small sizes that are not multiples of a block. HIPWARD_EMULATE_ALL=1 runs every case.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from op_cases import CASES, LONG_CASES, Case, assert_agrees, row_cases

import hipward_kernels.ops
from hipward_kernels.bench import amd_instructions
from hipward_kernels.compile.package_kernels import hip_listing
from hipward_kernels.compile.tiny import tiny_kernel
from hipward_kernels.emulate import EmulationError, hip_on, launch, run, triton_on
from hipward_kernels.gpu.facts import archs
from hipward_kernels.ops.cross_entropy import hip as cross_entropy_hip
from hipward_kernels.ops.gated import hip as gated_hip
from hipward_kernels.ops.launch import compute_units
from hipward_kernels.quantization.eager import SMALLEST_SCALE
from hipward_kernels.quantization.triton import column_block, quantize_kernel

ARCHS = ("gfx90a", "gfx942", "gfx950")
TOLERANCE = {torch.float32: 3e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

EVERYTHING = os.environ.get("HIPWARD_EMULATE_ALL") == "1"
"""Whether every case runs on every architecture in every dtype, which takes several minutes."""

FORMS = ("5x1", "9x4097", "1x16387", "34 wide, columns of a wider tensor", "34 wide, every other column")
"""Forms that each op runs in one of the nine combinations of architecture and dtype: one column, rows of several
blocks, and strides that vectors do not fit. `SHORTEST` has the cases that run in all of them."""

COMBINATIONS = [
    pytest.param(case, arch, dtype, id=f"{case} {arch} {dtype}".replace("torch.", ""))
    for number, case in enumerate([*CASES, *LONG_CASES])
    for place, (arch, dtype) in enumerate((arch, dtype) for arch in ARCHS for dtype in TOLERANCE)
    if EVERYTHING or (number % 9 == place and case.form in FORMS) or (number % 9 == 0 and place == 3)
]


EMULATED = {"triton": triton_on, "hip": hip_on}


def check(case: Case, tier: str, arch: str, dtype: torch.dtype) -> set[str]:
    """Runs a case forward and backward, and returns the names of the kernels that were executed."""
    with EMULATED[tier](arch) as reports:
        assert_agrees(case, tier, dtype, "cpu", TOLERANCE[dtype])
    findings = [finding for report in reports for finding in report.findings]
    assert not findings, findings
    return {report.kernel for report in reports}


@pytest.mark.parametrize(("case", "arch", "dtype"), COMBINATIONS)
def test_machine_code_matches_the_definition(case: Case, arch: str, dtype: torch.dtype) -> None:
    assert check(case, "triton", arch, dtype) or not all(leaf.numel() for leaf in case.leaves()), "no kernel ran"


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
    assert check(case, "hip", arch, dtype) or EVERYTHING, "no kernel ran"


@pytest.mark.parametrize("case", [case for case in row_cases([(131, 1032)]) if case.op.name.endswith("_mul")], ids=str)
def test_threads_read_two_vectors_of_large_tensors(case: Case) -> None:
    size = 131 * 1032 * torch.bfloat16.itemsize
    assert gated_hip.vectors_of_thread("gfx942", size, compute_units(-1)) == 2
    assert gated_hip.vectors_of_thread("gfx942", size // 2, compute_units(-1)) == 1
    assert gated_hip.vectors_of_thread("sm_90", size, compute_units(-1)) == 1
    assert check(case, "hip", "gfx942", torch.bfloat16)


ROUNDED = {
    "a tie, to the even number below": 0x3F808000,
    "a tie, to the even number above": 0x3F818000,
    "more than a tie": 0x3F808001,
    "less than a tie": 0x3F817FFF,
    "the largest number, to infinity": 0x7F7FFFFF,
    "negative": 0xBF818000,
    "a subnormal number": 0x00018001,
    "infinity": 0x7F800000,
    "a NaN whose payload is all ones": 0x7FFFFFFF,
    "a negative NaN": 0xFFFFFFFF,
}
"""Bits of float32 numbers whose rounding to bfloat16 has a special case."""


@pytest.mark.parametrize("arch", ARCHS)
def test_bfloat16_is_rounded_like_pytorch(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "round.hip"
    source.write_text(ROUND)
    listing = hip_listing(arch, source, {})
    for name, bits in ROUNDED.items():
        # Beside ordinary numbers, in each place of a vector.
        x = torch.ones(8, 8)
        x.view(torch.int32).fill_diagonal_(bits - (1 << 32 if bits >> 31 else 0))
        y = torch.zeros(64, dtype=torch.bfloat16)
        assert not run(listing, [x, y], (1, 1, 1), (8, 1, 1)).findings
        torch.testing.assert_close(y, x.bfloat16().flatten(), rtol=0, atol=0, equal_nan=True, msg=name)


ROUND = """
#include "hipward.h"
using namespace hipward;
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(8) round(const float* x, bf16* y) {
  const Vec<float> low = load(x + thread() * 8), high = load(x + thread() * 8 + 4);
  Wide<8> wide;
  for (int i = 0; i < 4; ++i) wide.at[i] = low.at[i], wide.at[i + 4] = high.at[i];
  store(y + thread() * 8, narrow<bf16>(wide));
}
"""


LANES = """
#include "hipward.h"
using namespace hipward;
template <int COUNT>
__device__ void both(float mine, float* sums, float* tops) {
  sums[thread()] = reduce_lanes<Sum, COUNT>(mine);
  tops[thread()] = reduce_lanes<Max, COUNT>(mine);
}
extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(64) lanes(const float* x, float* sums, float* tops) {
  const float mine = x[thread()];
  both<1>(mine, sums, tops);
  both<2>(mine, sums + 64, tops + 64);
  both<4>(mine, sums + 128, tops + 128);
  both<8>(mine, sums + 192, tops + 192);
  both<16>(mine, sums + 256, tops + 256);
  both<32>(mine, sums + 320, tops + 320);
  both<64>(mine, sums + 384, tops + 384);
}
"""


@pytest.mark.parametrize("plain", [{}, {"PLAIN": 1}], ids=["DPP", "ds_bpermute"])
@pytest.mark.parametrize("arch", ARCHS)
def test_neighbouring_lanes_reduce_together(arch: str, plain: dict[str, int], tmp_path: Path) -> None:
    source = tmp_path / "lanes.hip"
    source.write_text(LANES)
    listing = hip_listing(arch, source, plain)
    assert ("ds_bpermute" in listing) == bool(plain)
    assert ("row_bcast:31" in listing) != bool(plain)
    # Negative, so that a lane without a source, which reads as zero, would be the maximum.
    x = -torch.randperm(64).float() - 1
    sums, tops = torch.zeros(7, 64), torch.zeros(7, 64)
    assert not run(listing, [x, sums, tops], (1, 1, 1), (64, 1, 1)).findings
    for power in range(7):
        groups = x.view(-1, 1 << power)
        assert sums[power].equal(groups.sum(1).repeat_interleave(1 << power)), power
        assert tops[power].equal(groups.amax(1).repeat_interleave(1 << power)), power


@pytest.mark.parametrize(("op", "tier"), [("rmsnorm", "hip"), ("silu_mul", "triton"), ("qkv_rope", "triton")])
def test_table_has_the_instructions_that_are_executed(op: str, tier: str) -> None:
    published = {row.key: row for row in amd_instructions.read(amd_instructions.TABLE)}
    for row in amd_instructions.measure(op, tier, "gfx942"):
        line = published[row.key]
        assert line.vector_before is None or row.vector < line.vector_before or row.kernel.endswith("add_parts")
        # Another compiler may use other instructions.
        if line.compiler == row.compiler:
            numbers = (row.vector, row.lds, row.memory)
            assert numbers == (line.vector, line.lds, line.memory), "python -m hipward_kernels.bench.amd_instructions"


SMALL = "3x31", "3 heads of 16, 8 pairs", "5x33 none"
SHORTEST = {
    "triton": [
        *(case for case in CASES if any(str(case).endswith(end) for end in SMALL)),
        *(case for case in LONG_CASES if case.form.startswith("1x32773")),
    ],
    "hip": [
        *row_cases([(3, 24)]),
        *(case for case in CASES if any(str(case).endswith(end) for end in (SMALL[1], "6x1024 mean"))),
    ],
}
"""Cases that execute each kernel of a tier."""

PACKAGE = Path(hipward_kernels.ops.__file__).parents[1]


def kernels_of(tier: str) -> set[str]:
    """The names of a tier's kernels, from its sources."""
    found = set()
    if tier == "triton":
        for file in PACKAGE.glob("**/triton.py"):
            found |= {
                f"{file.parent.name}/triton.py {name}"
                for name in re.findall(r"^def (\w+_kernel)\(", file.read_text(), re.MULTILINE)
            }
        return found
    shared = (PACKAGE / "jit/include/gated.h").read_text()
    for file in PACKAGE.glob("ops/**/*.hip"):
        text = file.read_text().replace('#include "gated.h"', shared)
        names = re.findall(r'extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS\(\w+\)\s+(\w+)\(', text)
        found |= {f"{file.parent.name}/{file.name} {name}" for name in names}
    return found


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tier", EMULATED)
def test_every_kernel_is_executed_in_every_dtype(tier: str, arch: str, dtype: torch.dtype) -> None:
    executed = set()
    for case in SHORTEST[tier]:
        if tier == "triton" or case.op.name != "swiglu":
            executed |= check(case, tier, arch, dtype)
    # gfx90a has no 8-bit formats.
    if tier == "triton" and archs()[arch].fp8:
        executed.add(check_quantization(arch, dtype, 31))
    if tier == "hip":
        executed.add(check_sum_of_losses(arch, dtype))
    missing = kernels_of(tier) - executed
    assert missing == (set() if archs()[arch].fp8 or tier == "hip" else {"quantization/triton.py quantize_kernel"})


def check_sum_of_losses(arch: str, dtype: torch.dtype) -> str:
    """Adds losses as the compiled training step does, which has the only launch; returns the name of the kernel."""
    torch.manual_seed(0)
    rows, ignored = 3 * cross_entropy_hip.THREADS + 5, -100
    losses, labels = torch.rand(rows), torch.randint(7, (rows,))
    labels[::3] = ignored
    losses[labels == ignored] = 0
    counted = float((labels != ignored).sum())
    for mean in (0, 1):
        result, factor = torch.zeros(1), torch.zeros(1)
        with hip_on(arch) as reports:
            add = cross_entropy_hip.launch_of(cross_entropy_hip.SUM, 0, dtype)
            add(1, *(x.data_ptr() for x in (losses, labels, result, factor)), rows, ignored, mean)
        (report,) = reports
        assert not report.findings
        torch.testing.assert_close(result, losses.sum()[None] / (counted if mean else 1), rtol=1e-5, atol=0)
        torch.testing.assert_close(factor, torch.tensor([1 / counted if mean else 1.0]), rtol=1e-6, atol=0)
    return report.kernel


def check_quantization(arch: str, dtype: torch.dtype, columns: int) -> str:
    """Quantizes rows, and returns the name of the kernel."""
    torch.manual_seed(0)
    eight = {"fnuz": torch.float8_e4m3fnuz, "ocp": torch.float8_e4m3fn}[archs()[arch].fp8 or "ocp"]
    x = torch.randn(3, columns).to(dtype)
    values = torch.zeros(3, columns, dtype=eight)
    scales = torch.zeros(3, 1)
    largest = torch.finfo(eight).max
    block = column_block(columns)
    arguments = (x, values, scales, x.stride(0), columns, largest, SMALLEST_SCALE)
    report = launch(arch, quantize_kernel, (3,), arguments, {"BLOCK": block}, max(block // 1024, 1))
    assert not report.findings
    x = x.float()
    wanted = (x.abs().amax(1, keepdim=True) / largest).clamp(min=SMALLEST_SCALE)
    torch.testing.assert_close(scales, wanted, rtol=1e-6, atol=0)
    torch.testing.assert_close(values.float(), (x / scales).clamp(-largest, largest).to(eight).float(), rtol=0, atol=0)
    return report.kernel


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("columns", [1, 31, 256, 4097])
def test_quantization_rounds_like_pytorch(arch: str, columns: int) -> None:
    check_quantization(arch, torch.float32, columns)


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


def test_launch_uses_a_folder_where_files_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refused)
    x = torch.arange(192.0)
    assert not launch("gfx942", tiny_kernel, (1,), (x[64:128],), {"BLOCK": 64}, 1).findings
    torch.testing.assert_close(x, torch.arange(192.0) + (torch.arange(192) // 64 == 1), rtol=0, atol=0)


def test_counts_are_those_of_the_launch() -> None:
    report = launch("gfx942", tiny_kernel, (4,), (torch.zeros(64),), {"BLOCK": 64}, 1)
    loads = [access for access in report.counts["accesses"] if access["executions"] == 4 and access["bytes"] == 4 * 256]
    assert [access["segments64"] for access in loads] == [16, 16]
    assert report.counts["instructions"]["vector-memory"] == 8


RECORDED = json.loads((PACKAGE.parent / "results/launches.json").read_text(encoding="utf-8"))["launches"]
LISTING = next(launch["listing"] for launch in RECORDED if launch["name"] == "past-the-end")
"""A kernel of `x`, `y` and `n` for gfx942."""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"listing": '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n'}, "line 1: gfx1100 cannot be executed"),
        ({"listing": LISTING.partition("\t.end_amdhsa_kernel")[0]}, r"line \d+: the \.amdhsa_kernel block has no end"),
        ({"listing": LISTING.partition("\t.amdgpu_metadata")[0]}, r"line \d+: .* no entry in \.amdgpu_metadata"),
        ({"listing": LISTING.partition("amdhsa.target:")[0]}, r"line \d+: the \.amdgpu_metadata block has no end"),
        ({"arguments": [torch.zeros(64)]}, r"line \d+: .* takes 3 arguments; the launch has 1"),
        (
            {"arguments": [torch.zeros(64), torch.zeros(64), bytes(8)]},
            r"line \d+: argument 2 takes 4 bytes; the launch has 8",
        ),
        ({"grid": (1 << 32, 1, 1)}, r"grid=\(4294967296, 1, 1\) is not possible: a size is a whole number"),
        ({"workgroup": (64, -1, 1)}, r"workgroup=\(64, -1, 1\) is not possible"),
        ({"lds": 1 << 32}, "lds=4294967296 is not possible"),
        ({"lds": 1 << 30}, r"line \d+: the launch takes 1073741824 bytes of LDS; gfx942 has 65536"),
        ({"budget": 5}, r"line \d+ \(.+:\d+\): the kernel did not end within 5 instructions"),
    ],
)
def test_launches_that_cannot_run_are_errors(change: dict[str, Any], expected: str) -> None:
    arguments = [torch.zeros(64), torch.zeros(64), (64).to_bytes(4, "little")]
    launch = {"listing": LISTING, "arguments": arguments, "grid": (1, 1, 1), "workgroup": (64, 1, 1)}
    with pytest.raises(EmulationError, match=expected):
        run(**{**launch, **change})
