"""Profiles: kernels by kind, graph breaks, and output of ROCm's profilers.

The tools' files are written here in their documented formats; the figures in them are made up.
"""

from __future__ import annotations

import gzip
import json
import logging
import sqlite3
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

from hipward_kernels.profile import rocm, rocpd, rocprof_compute, rocprof_sys, rocprofv3
from hipward_kernels.profile.breakdown import read_trace, table
from hipward_kernels.profile.classes import kind_of
from hipward_kernels.profile.dispatch import Dispatch, summary
from hipward_kernels.profile.graph_breaks import graph_breaks
from hipward_kernels.profile.pytorch import profile
from hipward_kernels.profile.tool import ToolFailedError, ToolMissingError, run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = ["python", "train.py", "--batch-size", "8"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1", "gemm"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "gemm"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm"),
        ("aten::addmm", "gemm"),
        ("void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>", "gemm"),
        ("attn_fwd.kd", "attention"),
        ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>", "attention"),
        ("_ZN5aiter24fmha_fwd_hd128_bf16_causal_groupE", "attention"),
        ("aten::_scaled_dot_product_flash_attention", "attention"),
        ("triton_poi_fused_mul_silu_0", "elementwise"),
        ("triton_red_fused_mean_pow_rsqrt_1", "elementwise"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", "elementwise"),
        ("forward_rmsnorm_kernel", "elementwise"),
        ("aten::silu", "elementwise"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "other"),
    ],
)
def test_kernels_are_classified_by_library_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def event(name: str, start: float, length: float, cat: str = "kernel", tid: int = 7) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, "tid": tid, "pid": 0}


def test_gpu_trace_has_times_by_kind_and_gaps(tmp_path: Path) -> None:
    events = [
        event("aten::mm", 0, 50, "cpu_op"),
        event("Cijk_Ailk_Bljk_MT128x128x32", 100, 40),
        event("attn_fwd", 150, 30),
        # On another stream at the same time.
        event("triton_poi_fused_add_0", 160, 30, tid=8),
        event("Memcpy DtoD", 220, 10, "gpu_memcpy"),
        {"ph": "i", "name": "marker", "ts": 5},
    ]
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    found = read_trace(path)
    assert found.on_gpu
    assert found.launches == 4
    assert found.span_ms == pytest.approx(0.130)
    # 140 to 150, and 190 to 220.
    assert found.gap_ms == pytest.approx(0.040)
    assert [found.ms_of(kind) for kind in ("gemm", "attention", "elementwise", "other")] == pytest.approx(
        [0.040, 0.030, 0.040, 0.0]
    )
    text = table(found)
    assert "| gemm | 0.040 | 30.8% | 1 |" in text
    assert "| launch gap | 0.040 | 30.8% | |" in text


def test_cpu_trace_counts_operators_without_their_callees(tmp_path: Path) -> None:
    events = [
        event("aten::linear", 0, 100, "cpu_op"),
        event("aten::addmm", 10, 80, "cpu_op"),
        event("aten::silu", 120, 30, "cpu_op"),
        event("aten::add", 125, 20, "cpu_op", tid=9),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events))
    found = read_trace(path)
    assert not found.on_gpu
    assert {kernel.name: kernel.ms for kernel in found.kernels} == pytest.approx(
        {"aten::linear": 0.020, "aten::addmm": 0.080, "aten::silu": 0.030, "aten::add": 0.020}
    )
    assert found.gap_ms == pytest.approx(0.020)


def test_invalid_trace_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    for text, says in (("nonsense", "no Chrome trace"), ("[]", "no kernels and no operators")):
        path.write_text(text)
        with pytest.raises(ValueError, match=says):
            read_trace(path)


def test_model_is_profiled_and_its_trace_is_stored(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(256, 512), nn.SiLU(), nn.Linear(512, 256)), torch.randn(64, 256)
    with torch.no_grad():
        found = profile(lambda: model(x), calls=2, trace=tmp_path / "trace.json")
    assert found.ms_of("gemm") > 0
    assert found.ms_of("elementwise") > 0
    assert sum(kernel.calls for kernel in found.kernels if kernel.name == "aten::addmm") == 4
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


class Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(x)
        print("look")
        return y + 1


def test_graph_breaks_are_reported_with_their_line() -> None:
    report = graph_breaks(Broken(), [torch.ones(3)])
    assert (report.graphs, len(report.breaks)) == (2, 1)
    assert report.breaks[0].place.startswith("test_profile.py:")
    assert "in forward" in report.breaks[0].place
    assert "2 graphs" in report.in_words()
    whole = graph_breaks(nn.ReLU(), [torch.ones(3)])
    assert whole.breaks == []
    assert whole.in_words() == "1 graph with 1 operators, no breaks: torch.compile(fullgraph=True) takes it."


class ReadsValues(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.max() > 100:
            x = x / 2
        x = x * x[0].item()
        left = torch.tensor(3)
        while left > 0:
            left -= 1
        return x + 1


@pytest.mark.parametrize("logging_is_off", [False, True])
def test_each_graph_break_is_reported_once(logging_is_off: bool) -> None:
    logging.disable(logging.CRITICAL if logging_is_off else logging.NOTSET)
    try:
        report = graph_breaks(ReadsValues(), [torch.ones(3)])
    finally:
        logging.disable(logging.NOTSET)
    places = [one.place for one in report.breaks]
    assert len(set(places)) == len(places)
    assert all(place.endswith(" in forward") for place in places)
    if logging_is_off:
        # Without the log, a break between two graphs without operators is not known.
        return
    assert [one.reason.split()[0] for one in report.breaks] == ["Data-dependent", "Unsupported", "Data-dependent"]
    assert "item()" in report.breaks[1].reason
    assert [one.times for one in report.breaks] == [1, 1, 2]
    assert report.in_words().endswith("(2 times)")


def test_log_of_graph_breaks_is_left_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    before = logger.level, logger.propagate, list(logger.handlers)
    graph_breaks(ReadsValues(), [torch.ones(3)])
    assert (logger.level, logger.propagate, logger.handlers) == before
    assert "Graph break" not in capsys.readouterr().err


# --- ROCm's tools -------------------------------------------------------------------------------------------------

TRACE_CSV = """\
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",\
"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",\
"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 4",1,1,852,1,10,"Cijk_Ailk_Bljk_MT128x128x32",1,1000,5000,16384,0,128,64,96,256,1,1,4096,2,1
"KERNEL_DISPATCH","Agent 4",1,1,852,2,13,"void norm_kernel<float>(float*, int)",2,6000,7000,0,0,24,0,32,64,1,1,1024,1,1
"""
DISPATCHES = [
    Dispatch("Cijk_Ailk_Bljk_MT128x128x32", 1000, 5000, 128, 64, 96, 16384, 0, 256, 8192),
    Dispatch("void norm_kernel<float>(float*, int)", 6000, 7000, 24, 0, 32, 0, 0, 64, 1024),
]

SYMBOLS = """
CREATE TABLE "rocpd_info_kernel_symbol{id}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "nid" INTEGER, "pid" INTEGER,
  "code_object_id" INTEGER, "kernel_name" TEXT, "display_name" TEXT, "sgpr_count" INTEGER, "arch_vgpr_count" INTEGER,
  "accum_vgpr_count" INTEGER, "extdata" JSONB);
INSERT INTO "rocpd_info_kernel_symbol{id}" VALUES
  (10, 'g', 1, 1, 1, 'Cijk.kd', 'Cijk_Ailk_Bljk_MT128x128x32', 96, 128, 64, '{{}}'),
  (13, 'g', 1, 1, 1, 'void norm_kernel<float>(float*, int)', NULL, 32, 24, 0, '{{}}');
"""
SIZES = """"private_segment_size" INTEGER, "group_segment_size" INTEGER, "workgroup_size_x" INTEGER,
  "workgroup_size_y" INTEGER, "workgroup_size_z" INTEGER, "grid_size_x" INTEGER, "grid_size_y" INTEGER,
  "grid_size_z" INTEGER"""
TIMES_INSIDE = f"""{SYMBOLS}
CREATE TABLE "rocpd_kernel_dispatch{{id}}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "agent_id" INTEGER,
  "kernel_id" INTEGER, "dispatch_id" INTEGER, "start" BIGINT, "end" BIGINT, {SIZES});
INSERT INTO "rocpd_kernel_dispatch{{id}}" VALUES
  (2, 'g', 4, 13, 2, 6000, 7000, 0, NULL, 64, 1, 1, 1024, 1, 1),
  (1, 'g', 4, 10, 1, 1000, 5000, NULL, 16384, 256, 1, 1, 4096, 2, 1);
"""
TIMES_APART = f"""{SYMBOLS}
CREATE TABLE "rocpd_timestamp{{id}}" ("id" INTEGER PRIMARY KEY, "value" BIGINT);
INSERT INTO "rocpd_timestamp{{id}}" VALUES (1, 1000), (2, 5000), (3, 6000), (4, 7000);
CREATE TABLE "rocpd_kernel_dispatch{{id}}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "track_id" INTEGER,
  "kernel_id" INTEGER, "dispatch_id" INTEGER, "start_id" INTEGER, "end_id" INTEGER, {SIZES});
INSERT INTO "rocpd_kernel_dispatch{{id}}" VALUES
  (1, 'g', 1, 10, 1, 1, 2, 0, 16384, 256, 1, 1, 4096, 2, 1),
  (2, 'g', 1, 13, 2, 3, 4, 0, 0, 64, 1, 1, 1024, 1, 1);
CREATE VIEW rocpd_kernel_dispatch AS SELECT "id", lz4_decompress("guid") AS "guid" FROM "rocpd_kernel_dispatch{{id}}";
"""


def database(path: Path, layout: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(layout.format(id="_0000a1_7f2e"))
    connection.close()
    return path


@pytest.mark.parametrize("layout", [TIMES_INSIDE, TIMES_APART], ids=["times inside", "times apart"])
def test_both_layouts_of_rocpd_are_read(tmp_path: Path, layout: str) -> None:
    assert rocpd.read(database(tmp_path / "a_results.db", layout)) == DISPATCHES


def test_invalid_rocpd_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("nonsense, and long enough to be no database header at all" * 20)
    with pytest.raises(ValueError, match="is no rocpd database"):
        rocpd.read(tmp_path / "a.db")
    with pytest.raises(ValueError, match="no table of kernel dispatches"):
        rocpd.read(database(tmp_path / "b.db", "CREATE TABLE other{id} (a INTEGER);"))


def test_rocprofv3_is_called_and_read(tmp_path: Path) -> None:
    assert rocprofv3.command(PROGRAM, tmp_path, counters=["SQ_WAVES"], hip_trace=True) == [
        *("rocprofv3", "--kernel-trace", "--stats", "--truncate-kernels", "--hip-trace", "--pmc", "SQ_WAVES"),
        *("--output-format", "rocpd", "-d", str(tmp_path), "-o", "profile", "--", *PROGRAM),
    ]
    with pytest.raises(ValueError, match="neither a database nor a kernel trace"):
        rocprofv3.read(tmp_path)
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "123_kernel_trace.csv").write_text(TRACE_CSV)
    assert rocprofv3.read(tmp_path) == DISPATCHES
    found = summary(DISPATCHES)
    assert (found.ms_of("gemm"), found.ms_of("elementwise"), found.gap_ms) == pytest.approx((0.004, 0.001, 0.001))
    # The database is the tool's own format and comes first.
    database(tmp_path / "profile_results.db", TIMES_INSIDE)
    (tmp_path / "host" / "123_kernel_trace.csv").write_text("garbage")
    assert rocprofv3.read(tmp_path) == DISPATCHES
    with pytest.raises(ValueError, match="no kernel ran"):
        summary([])


def test_columns_missing_in_a_rocprofv3_version_are_omitted(tmp_path: Path) -> None:
    path = tmp_path / "1_kernel_trace.csv"
    # ROCm 6 has other names for memory and no accumulation registers. Names of templates contain quotes and commas.
    text = TRACE_CSV.replace("LDS_Block_Size", "Group_Segment_Size").replace("Scratch_Size", "Private_Segment_Size")
    text = text.replace("Accum_VGPR_Count", "Other").replace("<float>", '<int, ""x"">')
    path.write_text("\ufeff" + text, encoding="utf-8", newline="\r\n")
    gemm, norm = rocprofv3.read_kernel_trace(path)
    assert gemm == replace(DISPATCHES[0], agprs=None)
    assert norm == replace(DISPATCHES[1], agprs=None, kernel='void norm_kernel<int, "x">(float*, int)')


def test_truncated_or_damaged_table_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "1_kernel_trace.csv"
    for text, says in (
        (TRACE_CSV + '"KERNEL_DISPATCH","Agent 4"', "near line 4: it lacks the columns Kernel_Name, Start"),
        (TRACE_CSV.replace("5000", "soon"), "the column End_Timestamp holds 'soon', which is no whole number"),
        (TRACE_CSV.replace("Grid_Size_Y", "Other"), "lacks the columns Grid_Size_Y"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=says):
            rocprofv3.read(tmp_path)
    compressed = tmp_path / "pmc_perf.csv.gz"
    compressed.write_bytes(gzip.compress(COUNTER_ROWS.encode())[:60])
    with pytest.raises(ValueError, match="ended before the end"):
        rocprof_compute.read(tmp_path)


def test_recording_with_gaps_is_read_up_to_its_end(tmp_path: Path) -> None:
    more = """
    INSERT INTO "rocpd_kernel_dispatch{id}" VALUES
      (3, 'g', 4, 13, 3, 8000, NULL, 0, 0, 64, 1, 1, 64, 1, 1),
      (4, 'g', 4, 99, 4, 8000, 9000, 0, 0, 64, 1, 1, 64, 1, 1);
    """
    # A name that is an address with a query and a fragment, if it is read as one.
    found = rocpd.read(database(tmp_path / "a #1?b%20.db", TIMES_INSIDE + more))
    # A kernel that was still running has no time; one whose symbol is missing has no name and no registers.
    assert found == [*DISPATCHES, Dispatch("kernel 99", 8000, 9000, None, None, None, 0, 0, 64, 64)]
    assert summary(found).launches == 3


def test_statistics_of_kernels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "123_kernel_stats.csv"
    path.write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
        '"norm_kernel(int, float)",1000,517647434,517647.434000,42.56,510404,527365,2907.325924\n'
    )
    assert rocprofv3.read_kernel_stats(path) == [
        rocprofv3.KernelStats("norm_kernel(int, float)", 1000, 517647434, 517647.434, 42.56)
    ]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="lacks the columns Name, Calls"):
        rocprofv3.read_kernel_stats(path)


def test_rocprof_sys_is_called_and_read(tmp_path: Path) -> None:
    assert rocprof_sys.command(PROGRAM) == ["rocprof-sys-run", "--profile", "--trace", "--", *PROGRAM]
    assert rocprof_sys.variables(tmp_path)["ROCPROFSYS_OUTPUT_PATH"] == str(tmp_path)

    def node(prefix: str, depth: int, laps: int, ms: float) -> dict[str, Any]:
        return {"prefix": prefix, "depth": depth, "entry": {"laps": laps, "value": ms * 1e6, "repr_data": ms}}

    graph = [node("|00>>> main", 0, 1, 1500.0), node("|00>>> |_hipLaunchKernel", 1, 30, 12.5)]
    graph += [node("|00>>> |   |___init__ >>> x", 2, 1, 1.0)]
    clock = {"timemory": {"wall_clock": {"unit_value": 1_000_000, "ranks": [{"graph": graph}]}}}
    path = tmp_path / "wall-clock.json"
    path.write_text(json.dumps(clock))
    assert rocprof_sys.read_wall_clock(path) == [
        rocprof_sys.Region("main", 0, 1, 1.5),
        rocprof_sys.Region("hipLaunchKernel", 1, 30, 0.0125),
        rocprof_sys.Region("__init__ >>> x", 2, 1, 0.001),
    ]
    path.write_text("{}")
    with pytest.raises(ValueError, match="does not hold wall-clock times"):
        rocprof_sys.read_wall_clock(path)
    (tmp_path / "perfetto-trace.proto").touch()
    assert rocprof_sys.traces(tmp_path) == [tmp_path / "perfetto-trace.proto"]


@pytest.mark.parametrize("name", ["pmc_perf.csv", "pmc_perf.csv.gz"])
def test_rocprof_compute_is_called_and_read(tmp_path: Path, name: str) -> None:
    roof = rocprof_compute.profile_command(PROGRAM, "ver2", tmp_path, roofline_only=True)
    assert roof[:5] == ["rocprof-compute", "profile", "--output-directory", str(tmp_path / "ver2"), "--roof-only"]
    assert rocprof_compute.analyze_command(tmp_path, dispatch=1538)[-2:] == ["--dispatch", "1538"]
    assert rocprof_compute.analyze_command(tmp_path, list_stats=True)[-1] == "--list-stats"
    with pytest.raises(ValueError, match=r"left neither pmc_perf\.csv"):
        rocprof_compute.read(tmp_path)
    text = (
        "Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Start_Timestamp,End_Timestamp,SQ_WAVES,TCC_HIT_sum\n"
        '7,4,"vecCopy(double*, int)",1048576,1000,9000,16384,1.5e6\n'
    )
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert rocprof_compute.read(tmp_path) == [
        rocprof_compute.Counters(7, "vecCopy(double*, int)", 8000, {"SQ_WAVES": 16384.0, "TCC_HIT_sum": 1.5e6})
    ]


COUNTER_ROWS = """\
GPU_ID,GUID,Correlation_Id,Dispatch_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,\
Accum_VGPR,SGPR,Kernel_Name,Start_Timestamp,End_Timestamp,Kernel_ID,Counter_Name,Counter_Value
4,8f2c,1,0,1048576,256,0,0,12,4,32,"vecCopy(double*, int)",{start},{end},0,{first},{value}
4,8f2c,1,0,1048576,256,0,0,12,4,32,"vecCopy(double*, int)",{start},{end},0,{second},2.5
4,8f2c,2,1,64,64,0,0,8,0,16,fill,5000,5100,1,{first},7
"""


def test_passes_of_newer_rocprof_compute_are_merged(tmp_path: Path) -> None:
    first = COUNTER_ROWS.format(start=1000, end=9000, first="SQ_WAVES", second="TCC_HIT_sum", value="16384")
    second = COUNTER_ROWS.format(start=2000, end=9500, first="SQ_INSTS_VALU", second="TCC_MISS_sum", value="32768")
    folder = tmp_path / "MI300X_A1"
    folder.mkdir()
    (folder / "results_pmc_perf_0.csv.gz").write_bytes(gzip.compress(first.encode()))
    (folder / "results_pmc_perf_1.csv").write_text(second)
    copy, fill = rocprof_compute.read(tmp_path)
    assert (copy.kernel, copy.ns) == ("vecCopy(double*, int)", 8000)
    counted = {"SQ_WAVES": 16384.0, "TCC_HIT_sum": 2.5, "SQ_INSTS_VALU": 32768.0, "TCC_MISS_sum": 2.5}
    assert copy.values == counted
    assert fill.values == {"SQ_WAVES": 7.0, "SQ_INSTS_VALU": 7.0}
    (folder / "pmc_perf.csv").write_text(first)
    assert rocprof_compute.read(tmp_path)[0].values == {"SQ_WAVES": 16384.0, "TCC_HIT_sum": 2.5}
    (folder / "pmc_perf.csv").unlink()
    (folder / "results_pmc_perf_1.csv").write_text(second.replace("fill", "scale"))
    with pytest.raises(ValueError, match="dispatch 1 is scale, and fill in another pass"):
        rocprof_compute.read(tmp_path)


ROOFLINE_CSV = """\
device,HBMBw,HBMBwLow,HBMBwHigh,MALLBw,L2Bw,FP32Flops,FP32FlopsLow,MFMAF4Flops,MFMABF16Flops,MFMAI8Ops
0,4217.5,4210.1,4221.9,0,21460.2,119803.4,119800.0,,653280.5,1295711.0
"""


def test_roofline_of_rocprof_compute_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"left no roofline\.csv"):
        rocprof_compute.read_roofline(tmp_path)
    folder = tmp_path / "roofline" / "MI300X_A1"
    folder.mkdir(parents=True)
    (folder / "roofline.csv").write_text(ROOFLINE_CSV)
    (folder / "empirRoof_gpu-0_FP32.pdf").touch()
    (peaks,) = rocprof_compute.read_roofline(tmp_path)
    assert set(peaks) == {"HBMBw", "L2Bw", "FP32Flops", "MFMABF16Flops", "MFMAI8Ops"}
    assert peaks["HBMBw"] == rocprof_compute.Peak(4217.5, "TB/s")
    rocm.main(["roofline", "--output", str(tmp_path), "--read"])
    printed = capsys.readouterr().out
    assert "| MFMABF16Flops | 653.28 TFLOP/s |" in printed
    assert "empirRoof_gpu-0_FP32.pdf" in printed
    (folder / "roofline.csv").write_text("device,HBMBw\n0,0\n")
    with pytest.raises(ValueError, match="has no bandwidths and rates"):
        rocprof_compute.read_roofline(tmp_path)


HIP_CALLS = """
CREATE TABLE "rocpd_string{{id}}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "string" TEXT);
INSERT INTO "rocpd_string{{id}}" VALUES
  (1, 'g', 'hipLaunchKernel'), (2, 'g', 'hipStreamSynchronize'), (3, 'g', 'roctx');
CREATE TABLE "rocpd_region{{id}}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "name_id" INTEGER, {times});
INSERT INTO "rocpd_region{{id}}" VALUES (1, 'g', 1, {0}), (2, 'g', 2, {1}), (3, 'g', 3, {0});
"""


@pytest.mark.parametrize(
    "layout",
    [
        TIMES_INSIDE + HIP_CALLS.format("1000, 5000", "6000, 7000", times='"start" BIGINT, "end" BIGINT'),
        TIMES_APART + HIP_CALLS.format("1, 2", "3, 4", times='"start_id" INTEGER, "end_id" INTEGER'),
    ],
    ids=["times inside", "times apart"],
)
def test_hip_calls_are_read_and_reported(tmp_path: Path, layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    database(tmp_path / "profile_results.db", layout)
    assert rocprofv3.read_hip_calls(tmp_path) == [
        rocprofv3.HipCall("hipLaunchKernel", 1000, 5000),
        rocprofv3.HipCall("hipStreamSynchronize", 6000, 7000),
    ]
    rocm.main(["kernels", "--output", str(tmp_path), "--read"])
    assert "| hipLaunchKernel | 0.004 | 1 | 4.0 |" in capsys.readouterr().out


def test_hip_calls_of_a_csv_file_are_read(tmp_path: Path) -> None:
    assert rocprofv3.read_hip_calls(tmp_path) == []
    (tmp_path / "1_hip_api_trace.csv").write_text(
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"HIP_RUNTIME_API","hipMemcpyAsync",7,7,1,100,300\n'
    )
    assert rocprofv3.read_hip_calls(tmp_path) == [rocprofv3.HipCall("hipMemcpyAsync", 100, 300)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["kernels", "--hip-trace"], "rocprofv3 --kernel-trace --stats --truncate-kernels --hip-trace "),
        (["timeline"], "rocprof-sys-run --profile --trace -- "),
        (["counters"], "rocprof-compute profile --output-directory profiles/counters --no-roof -- "),
        (["roofline"], "rocprof-compute profile --output-directory profiles/roofline --roof-only -- "),
    ],
)
def test_command_lines_of_the_tools_are_printed(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rocm.main([*arguments, "--print", "--", *PROGRAM])
    printed = capsys.readouterr().out
    assert printed.startswith(expected)
    assert printed.endswith("-- python train.py --batch-size 8\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernels"], "name the program after --"),
        (["kernels", "--read", "--", "python"], "--read runs no program"),
        (["roofline", "--hip-trace", "--", "python"], "options of kernels"),
    ],
)
def test_wrong_arguments_of_the_profilers_are_reported(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        rocm.main(arguments)
    assert message in capsys.readouterr().err


def test_profilers_are_run_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    with pytest.raises(SystemExit):
        rocm.main(["roofline", "--output", str(tmp_path / "out"), "--", *PROGRAM])
    assert "rocprofiler-compute" in capsys.readouterr().err
    fake = tmp_path / "rocm" / "bin" / "rocprof-compute"
    fake.parent.mkdir(parents=True)
    fake.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nfolder = pathlib.Path(sys.argv[3])\nfolder.mkdir(parents=True)\n"
        f"(folder / 'roofline.csv').write_text({ROOFLINE_CSV!r})\n"
    )
    fake.chmod(0o755)
    rocm.main(["roofline", "--output", str(tmp_path / "out"), "--", *PROGRAM])
    assert "| HBMBw | 4.22 TB/s |" in capsys.readouterr().out


def test_missing_and_failing_tools_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    for profiler in (rocprofv3, rocprof_sys):
        with pytest.raises(ToolMissingError, match=r"is not on this host\. It comes with ROCm"):
            profiler.profile(PROGRAM, tmp_path)
    with pytest.raises(ToolMissingError, match="rocprofiler-compute"):
        rocprof_compute.profile(PROGRAM, "a", tmp_path)
    fake = tmp_path / "rocm" / "bin" / "rocprofv3"
    fake.parent.mkdir(parents=True)
    fake.write_text(f"#!{sys.executable}\nimport sys\nprint('no GPU agents found', file=sys.stderr)\nsys.exit(3)\n")
    fake.chmod(0o755)
    with pytest.raises(ToolFailedError, match="ended with 3: no GPU agents found"):
        rocprofv3.profile(PROGRAM, tmp_path)
    fake.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    with pytest.raises(ToolFailedError, match=r"longer than 0\.2 s"):
        run(["rocprofv3"], seconds=0.2)
