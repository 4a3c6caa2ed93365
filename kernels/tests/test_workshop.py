"""The workshop's scripts, run as documented, at a size for a CPU."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import torch
from torch import Tensor, nn

from hipward_kernels.bench.perftest import copy_rate
from hipward_kernels.models import SIZES, VERSIONS, llama
from hipward_kernels.workshop import (
    analyze_kernel_launches,
    analyze_kernel_reduction,
    benchmark_suite,
    compare_versions,
    decode_benchmark,
    fusion_ablation_study,
    generate_fusion_report,
    memory_bandwidth_analyzer,
    optimize_batch_size,
    performance_regression_test,
    run_deepspeed_flops,
    run_pytorch_profiler,
    sequence_length_sweep,
    training_script,
    validate_numerical_accuracy,
)
from hipward_kernels.workshop.measuring import Interval
from hipward_kernels.workshop.optimize_batch_size import Candidate, search
from hipward_kernels.workshop.options import Subject
from hipward_kernels.workshop.profiling import does_work, profiled
from hipward_kernels.workshop.records import COLUMNS, append, load, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parent.parent
TINY = ["--size", "tiny", "--device", "cpu"]
FAST = [*TINY, "--num-steps", "4"]


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `run_pytorch_profiler` writes for two versions."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("v1", "v3")}
    for name, directory in found.items():
        arguments = [*TINY, "--num-steps", "12", "--version", name, "--profile-dir", str(directory)]
        run_pytorch_profiler.main([*arguments, "--generate-report"])
    return found


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public original's mistake: V3's norm is a kernel without a backward."""
    monkeypatch.setattr(llama, "rmsnorm", lambda x, weight, eps: llama.plain_rmsnorm(x, weight, eps).detach())


def test_version_trains_and_reports_its_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.csv"
    arguments = [*TINY, "--num-steps", "8", "--profile-dir", str(tmp_path), "--enable-pytorch-profiler"]
    record = training_script.run("v1", [*arguments, "--results", str(results)])
    assert load(tmp_path) == record
    training = record.training
    assert len(training.losses) == 8
    assert training.step_ms.low <= training.step_ms.median <= training.step_ms.high
    assert training.peak_memory_mib is None, "allocations of a CPU are not counted"
    assert training.saved_mib > 0
    assert training.without_gradient == []
    assert "each gets a gradient" in capsys.readouterr().out
    with results.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_metric = {row["metric"]: row for row in rows}
    assert float(by_metric["step"]["value"]) == pytest.approx(training.step_ms.median, rel=1e-5)
    assert all(row["device"] and row["torch"] == torch.__version__ and row["date"] for row in rows)
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    names = {event.get("name") for event in trace}
    assert {"forward", "backward", "optimizer", "layers.0.self_attn", "layers.1.mlp"} <= names


@pytest.mark.parametrize(
    ("flags", "switches"),
    [
        (["--enable-qkv-fusion", "--enable-flash-attention"], "fused_qkv flash_attention"),
        (["--enable-all-fusion", "--disable-torch-compile"], "fused_qkv flash_attention fused_gate_up"),
        (["--on", "rmsnorm_kernel"], "rmsnorm_kernel"),
        ([], "none"),
    ],
)
def test_flags_switch_parts(flags: list[str], switches: str) -> None:
    record = training_script.run("v1", [*TINY, "--num-steps", "1", *flags])
    assert str(record.subject.switches) == switches


def test_mixed_precision_follows_the_flags() -> None:
    record = training_script.run("v1", [*FAST, "--use-amp", "--amp-dtype", "bfloat16"])
    assert record.subject.precision == "bfloat16"


def test_scripts_run_as_modules() -> None:
    command = [sys.executable, "-m", "hipward_kernels.workshop.tiny_llama_v3", *FAST, "--batch-size", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tokens/s" in done.stdout


def test_all_profilers_run_and_missing_ones_are_reported(tmp_path: Path) -> None:
    script = ROOT / "hipward_kernels" / "workshop" / "run_all_profilers.sh"
    # A PATH without AMD's tools, wherever this runs.
    environment = {**os.environ, "PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    command = ["bash", str(script), "--version", "v1", "--profile-dir", str(tmp_path), *TINY]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rocprofv3 is not installed: skipped" in done.stdout
    written = {path.name for path in tmp_path.iterdir()}
    assert {"trace.json", "kernels.json", "metrics.json", "report.md", "flops.md", "bandwidth.md"} <= written
    command.append("--enable-rocm-tools")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr == "rocprofv3 is not installed; it comes with ROCm\n"
    assert not done.stdout, "the error comes before the first profiler"


# Kernels


def test_fused_versions_launch_fewer_kernels(profiles: dict[str, Path]) -> None:
    found = analyze_kernel_reduction.main(["--baseline", str(profiles["v1"]), "--fused", str(profiles["v3"])])
    calls = {name: {k.name: k.calls for k in p.kernels} for name, p in (("v1", found.baseline), ("v3", found.fused))}
    layers = 2
    # A layer's seven products become four, and the head's stays; each has two in the backward.
    assert calls["v1"]["aten::mm"] == 3 * (7 * layers + 1)
    assert calls["v3"]["aten::mm"] == 3 * (4 * layers + 1)
    assert calls["v1"]["aten::_softmax"] == layers
    assert "aten::_softmax" not in calls["v3"]
    assert 0 < found.share < 1


def test_views_do_not_count_as_traffic() -> None:
    assert does_work("aten::mm")
    assert does_work("aten::copy_")
    assert not any(does_work(f"aten::{name}") for name in ("view", "transpose", "empty_strided", "detach"))
    x = torch.randn(8, 8)
    profile = profiled(lambda: (x @ x).t().reshape(64).relu(), "test", torch.device("cpu"))
    counted = {kernel.name: kernel.calls for kernel in profile.kernels}
    assert counted == {"aten::mm": 1, "aten::copy_": 1, "aten::clamp_min": 1} or counted.pop("aten::clone", 0)
    assert counted["aten::mm"] == 1


def test_launches_and_gaps_are_read_from_a_trace(tmp_path: Path, profiles: dict[str, Path]) -> None:
    found = analyze_kernel_launches.main(["--trace-file", str(profiles["v1"] / "trace.json")])
    assert not found.on_gpu
    assert found.ms_of("gemm") > 0
    trace = tmp_path / "1_kernel_trace.csv"
    counts = "VGPR_Count,Accum_VGPR_Count,SGPR_Count,LDS_Block_Size,Scratch_Size"
    sizes = ",".join(f"{what}_Size_{axis}" for what in ("Workgroup", "Grid") for axis in "XYZ")
    dispatches = [("Cijk_gemm", 1000, 5000), ("rmsnorm", 7000, 8000), ("rmsnorm", 7500, 9000)]
    lines = [f"{name},{start},{end},8,0,8,0,0,64,1,1,64,1,1" for name, start, end in dispatches]
    header = f"Kernel_Name,Start_Timestamp,End_Timestamp,{counts},{sizes}"
    trace.write_text("\n".join([header, *lines]), encoding="utf-8")
    found = analyze_kernel_launches.main(["--trace-file", str(trace)])
    assert found.launches == 3
    assert found.span_ms == pytest.approx(8e-3)
    assert found.gap_ms == pytest.approx(2e-3)


def test_file_that_is_no_trace_is_reported(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("{", encoding="utf-8")
    for name in ("trace.json", "absent.csv", "absent.json"):
        with pytest.raises(SystemExit, match=name):
            analyze_kernel_launches.main(["--trace-file", str(tmp_path / name)])


def test_report_compares_profiles_before_and_after_fusion(profiles: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["--baseline", str(profiles["v1"]), "--fused", str(profiles["v3"])]
    page = generate_fusion_report.main([*arguments, "--output", str(tmp_path / "page.md")]).read_text(encoding="utf-8")
    assert "Every parameter gets a gradient in both." in page
    assert "| operators a step |" in page
    assert torch.__version__ in page


def test_report_can_run_the_profiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the quick start calls it; without the compiler, which test_models.py covers.
    monkeypatch.setitem(VERSIONS, "v2", VERSIONS["v2"].with_(off=["compile"]))
    page = generate_fusion_report.main([*FAST, "--output-dir", str(tmp_path)])
    assert page == tmp_path / "fusion_report.md"
    assert (tmp_path / "v1" / "trace.json").exists()


# Proof that a version trains the model


def test_versions_are_compared_after_a_training_check(capsys: pytest.CaptureFixture[str]) -> None:
    compared = compare_versions.main([*TINY, "--off", "compile", "--num-steps", "8"])
    assert [one.record.subject.version for one in compared] == ["v1", "v2 -compile", "v3", "v4 -compile"]
    assert all(one.trains_like(compared[0]) for one in compared)
    kernels = [one.profile.calls for one in compared if one.profile is not None]
    assert kernels[0] > kernels[1] > kernels[3]
    assert "fwd / bwd / opt ms" in capsys.readouterr().out


def test_saved_results_are_compared_without_running(profiles: dict[str, Path]) -> None:
    compared = compare_versions.main([f"--{name}={path}" for name, path in profiles.items()])
    assert [one.record.subject.version for one in compared] == ["v1", "v3"]


@pytest.mark.usefixtures("broken")
def test_version_without_a_backward_is_not_reported_as_faster(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="v3: does not train like v1"):
        compare_versions.main([*FAST, "--models", "v1,v3"])
    with pytest.raises(SystemExit, match="does not train like V1"):
        fusion_ablation_study.main([*FAST, "--switches", "rmsnorm_kernel"])
    with pytest.raises(SystemExit, match=r"is wrong in .*q_proj"):
        validate_numerical_accuracy.main([*TINY, "--optimized", "v3"])
    for name in ("v1", "v3"):
        training_script.run(name, [*TINY, "--num-steps", "12", "--profile-dir", str(tmp_path / name)])
    files = ["--baseline-results", str(tmp_path / "v1"), "--current-results", str(tmp_path / "v3")]
    with pytest.raises(SystemExit, match="13 parameters get no gradient"):
        performance_regression_test.main([*files, "--min-speedup", "0"])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_version_is_as_close_to_float64_as_the_baseline(precision: str) -> None:
    arguments = [*TINY, "--off", "compile", "--precision", precision]
    errors = validate_numerical_accuracy.main(
        [*arguments, "--baseline", "../version1_pytorch_baseline/tiny_llama_v1.py", "--optimized", "v4"]
    )
    assert {"logits", "loss", "embed_tokens.weight", "layers.1.self_attn.v_proj.weight"} <= {e.name for e in errors}


def test_every_combination_of_switches_is_measured() -> None:
    names = ["fused_qkv", "flash_attention", "fused_gate_up"]
    outcomes = fusion_ablation_study.main([*FAST, "--switches", ",".join(names), "--all-combinations"])
    sets = [outcome.record.subject.switches.on() for outcome in outcomes]
    assert len(set(sets)) == 8
    assert sets[0] == sets[-1] == (), "the baseline, and its control at the end"
    assert [len(s) for s in sets[:-1]] == sorted(len(s) for s in sets[:-1])


def test_impossible_combinations_are_skipped() -> None:
    sets = fusion_ablation_study.combinations(["fused_qkv", "qkv_rope_kernel"], all_of_them=True)
    assert [s.on() for s in sets] == [(), ("fused_qkv",), ("fused_qkv", "qkv_rope_kernel")]
    few = fusion_ablation_study.combinations(["fused_qkv", "flash_attention", "fused_gate_up"], all_of_them=False)
    assert [len(s.on()) for s in few] == [0, 1, 1, 1, 2, 2, 2, 3]


# Regression gate


def test_gate_requires_a_speedup_within_the_intervals(profiles: dict[str, Path]) -> None:
    baseline = load(profiles["v1"])

    def at(median: float, low: float, high: float) -> Any:
        return replace(baseline, training=replace(baseline.training, step_ms=Interval(median, low, high, 30)))

    judge = performance_regression_test.judge
    assert judge(at(10, 9.9, 10.1), at(5, 4.9, 5.1), 1.9, 1.1).failures == []
    assert judge(at(10, 9.0, 11.0), at(5, 4.5, 5.5), 1.9, 1.1).failures != [], "2.0, but perhaps only 1.64"
    assert judge(at(5, 4.9, 5.1), at(10, 9.9, 10.1), 1.0, 1.1).failures != []


def test_gate_rejects_a_loss_that_is_no_number(profiles: dict[str, Path]) -> None:
    baseline = load(profiles["v1"])
    losses = baseline.training.losses
    for last in (float("nan"), float("inf"), losses[-1] * 1.1):
        now = replace(baseline, training=replace(baseline.training, losses=[*losses[:-1], last]))
        assert any("loss" in failure for failure in performance_regression_test.judge(baseline, now, 0, 1.1).failures)
    assert performance_regression_test.judge(baseline, baseline, 0, 1.1).failures == []


def test_gate_rejects_different_conditions(profiles: dict[str, Path]) -> None:
    baseline = load(profiles["v1"])
    other = replace(baseline, conditions={**baseline.conditions, "device_name": "another"})
    with pytest.raises(ValueError, match="device_name"):
        performance_regression_test.judge(baseline, other, 1.0, 1.1)
    larger = replace(baseline, subject=replace(baseline.subject, batch_size=64))
    with pytest.raises(ValueError, match="batch_size: 2 and 64"):
        performance_regression_test.judge(baseline, larger, 1.0, 1.1)
    hasty = replace(baseline, training=replace(baseline.training, step_ms=Interval(1, 1, 1, 1)))
    with pytest.raises(ValueError, match="1 timed steps"):
        performance_regression_test.judge(baseline, hasty, 1.0, 1.1)
    with pytest.raises(SystemExit, match="not a result"):
        performance_regression_test.main(["--baseline-results", "absent", "--current-results", "absent"])


# Sweeps


def test_memory_is_quadratic_only_if_scores_are_stored() -> None:
    arguments = [*FAST, "--models", "v1,v3", "--seq-lengths", "64,128,256", "--batch-size", "1"]
    plain, flash = sequence_length_sweep.main(arguments)
    assert sequence_length_sweep.exponents(plain)[-1] > 1.2
    assert sequence_length_sweep.exponents(flash)[-1] == pytest.approx(1, abs=0.02)
    assert plain[-1].training.saved_mib > flash[-1].training.saved_mib


def test_lengths_are_swept_up_to_the_models_positions() -> None:
    (records,) = sequence_length_sweep.main([*FAST, "--models", "v1", "--batch-size", "1"])
    assert [record.subject.sequence_length for record in records] == [128, 256]


def test_suite_covers_every_batch_size_and_length() -> None:
    records = benchmark_suite.main([*FAST, "--models", "v1,v3", "--batch-sizes", "1,2", "--seq-lengths", "16,32"])
    shapes = [(r.subject.version, r.subject.batch_size, r.subject.sequence_length) for r in records]
    assert shapes == [(v, b, s) for b in (1, 2) for s in (16, 32) for v in ("v1", "v3")]


def memory_of(weights_mib: float, per_sequence_mib: float) -> Callable[[int], Candidate | None]:
    def attempt(size: int) -> Candidate | None:
        memory = weights_mib + size * per_sequence_mib
        return None if memory > 1000 else Candidate(size, 1.0 + size, size / (1 + size), memory)

    return attempt


@pytest.mark.parametrize(("limit", "largest"), [(900, 80), (500, 40), (105, 0), (110, 1), (5000, 90)])
def test_search_finds_the_largest_batch_within_an_eighth(limit: float, largest: int) -> None:
    fits = search(memory_of(100, 10), limit, 1024)
    assert all(candidate.memory_mib <= limit for candidate in fits)
    found = fits[-1].batch_size if fits else 0
    assert largest - max(1, largest // 8) <= found <= largest


def test_best_batch_of_this_host_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    best = optimize_batch_size.main([*FAST, "--version", "v1", "--max-batch-size", "4", "--seq-len", "16"])
    assert best.batch_size in (1, 2, 3, 4)
    assert "batch 4: " in capsys.readouterr().err, "each batch is reported when it is done"
    with pytest.raises(SystemExit, match="not even a batch of one"):
        optimize_batch_size.main([*FAST, "--version", "v1", "--target-memory-usage", "1e-9"])


# Cost


def test_roofline_counts_operations(tmp_path: Path) -> None:
    arguments = [*FAST, "--version", "v1", "--generate-roofline", "--output-dir", str(tmp_path)]
    found = run_deepspeed_flops.main(arguments)
    assert found.counted_flops > found.cost.flops, "V1 computes scores that it masks"
    assert 0 < found.of_overlapped < found.of_serial
    drawing = ET.parse(tmp_path / "roofline.svg").getroot()  # noqa: S314 - our own drawing
    assert drawing.tag.endswith("svg")


def test_traffic_of_operators_is_counted(tmp_path: Path) -> None:
    arguments = [*FAST, "--version", "v1", "--profile-data", str(tmp_path), "--generate-roofline-plot"]
    found = memory_bandwidth_analyzer.main(arguments)
    assert sum(found.bytes.values()) > found.needed_bytes
    assert "view" not in found.calls
    traffic = memory_bandwidth_analyzer.Traffic()
    x = torch.ones(10, 20)
    with traffic:
        (x.t() + 1).relu_()
    assert traffic.bytes == {"add": 2 * x.nbytes, "relu_": 2 * x.nbytes}


def test_decoding_is_timed_interleaved_and_texts_are_compared(tmp_path: Path) -> None:
    results = tmp_path / "models.csv"
    arguments = [*TINY, "--prompt-length", "6", "--new-tokens", "8", "--repeats", "3", "--results", str(results)]
    decoded = decode_benchmark.main(arguments)
    assert [one.subject.version for one in decoded] == ["v1", "v2", "v4"]
    assert all(one.same_share == 1 for one in decoded)
    assert decoded[2].note == "no graph: graphs need a GPU" or torch.cuda.is_available()
    with results.open(encoding="utf-8", newline="") as lines:
        rows = {(row["version"], row["metric"]): row for row in csv.DictReader(lines)}
    for version in ("v1", "v2", "v4"):
        token, faster = (rows[version, metric] for metric in ("token", "speed-up over the first version"))
        assert token["samples"] == faster["samples"] == "3"
        assert float(faster["low"]) <= float(faster["value"]) <= float(faster["high"])
        floor = float(rows[version, "memory roofline: parameters once, at copy speed"]["value"])
        share = float(rows[version, "share of the memory roofline"]["value"])
        assert share == pytest.approx(floor / float(token["value"]), rel=1e-3)
    assert float(rows["v1", "speed-up over the first version"]["value"]) == 1


class DriftingClock:
    """Gives what a call returns as its milliseconds, on a machine that becomes three times as slow during the run."""

    name, cache = "drifting", "none"

    def __init__(self, calls: int) -> None:
        self._left = self._calls = calls

    def samples(self, call: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> tuple[list[float], Any]:
        self._left -= 1
        result = call(*arguments[0])
        return [float(result[0, 1]) * (3 - 2 * self._left / self._calls)], result


def test_decoders_are_interleaved_so_that_drift_cancels_out() -> None:
    calls: list[tuple[str, int]] = []
    texts = 30

    def decoder(name: str, milliseconds: int) -> decode_benchmark.Decoder:
        def text(prompt: Tensor) -> Tensor:
            calls.append((name, int(prompt[0, 0])))
            return torch.tensor([[int(prompt[0, 0]), milliseconds]])

        return decode_benchmark.Decoder(replace(subject, version=name), text, 1000, "")

    subject = Subject("v1", VERSIONS["v1"], "tiny", 1, 1, "float32")
    prompts = [torch.tensor([[index]]) for index in range(texts)]
    decoders = [decoder("slow", 20), decoder("fast", 10)]
    slow, fast = decode_benchmark.race(decoders, prompts, 1, DriftingClock(2 * texts))
    assert [index for _, index in calls] == [index for index in range(texts) for _ in decoders], "text by text"
    assert {name for name, _ in calls[::2]} == {"slow", "fast"}, "neither is always first"
    assert fast.token_ms.samples == texts
    assert fast.token_ms.high > 1.2 * fast.token_ms.low, "the drift shows in the times"
    assert 1.9 < fast.speedup.low <= 2 <= fast.speedup.high < 2.1, "but not in the ratio"
    assert slow.speedup.middle == 1
    assert (slow.same_share, fast.same_share) == (1, 0.5)
    assert fast.floor_ms == pytest.approx(1000 / (copy_rate(torch.device("cpu")) * 1e6))


# Records and options


def test_results_with_other_columns_are_not_mixed(profiles: dict[str, Path], tmp_path: Path) -> None:
    rows = rows_of("test", load(profiles["v1"]))
    path = tmp_path / "results.csv"
    append(path, rows)
    append(path, rows)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 2 * len(rows)
    assert path.read_text(encoding="utf-8").startswith(",".join(COLUMNS))
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="columns"):
        append(path, rows)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: training_script.run("v1", [*TINY, "--seq-len", "1000"]), "256 positions"),
        (lambda: training_script.run("v1", [*TINY, "--enable-pytorch-profiler"]), "--profile-dir is required"),
        (lambda: training_script.run("v1", ["--device", "banana"]), "banana: there is no such device"),
        (lambda: training_script.run("v4", [*TINY, "--off", "fused_qkv"]), "needs fused_qkv; switch both"),
        (lambda: compare_versions.main(["--v1", "absent", "--v2", "absent"]), "not a result"),
        (lambda: analyze_kernel_reduction.main(["--baseline", "absent", "--fused", "absent"]), "not a profile"),
    ],
)
def test_impossible_run_is_rejected_with_a_message(call: Callable[[], object], says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        call()


def test_results_file_is_checked_before_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        training_script.run("v1", [*TINY, "--results", str(tmp_path / "other.csv")])
    assert "has the columns ['a', 'b']" in capsys.readouterr().err


def test_missing_gpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="there is no GPU here"):
        training_script.run("v1", ["--size", "tiny", "--device", "cuda"])


# The exercise


def test_exercise_has_findings_and_the_solution_has_none() -> None:
    directory = ROOT.parent / "content/03-optimize/12-missing-backward"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(directory / "solution.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    plain, wrong, solved = ({"moments": int(w[4]), "loss": float(w[6]), "missing": int(w[7])} for w in lines)
    assert solved == pytest.approx(plain, abs=2e-3), "the same training"
    assert plain["missing"] == 0
    assert wrong["missing"] == 16
    assert wrong["moments"] < plain["moments"] / 20
    assert wrong["loss"] > 5 * plain["loss"]


def test_module_tree_is_unchanged(profiles: dict[str, Path]) -> None:
    """Hooks that name ranges in a trace are removed after it."""
    assert profiles
    model: nn.Module = llama.TinyLlama(SIZES["tiny"].config, VERSIONS["v1"])
    from hipward_kernels.workshop.profiling import named_ranges

    tokens: Tensor = torch.zeros(1, 4, dtype=torch.int64)
    with named_ranges(model):
        model(tokens)
        assert any(module._forward_hooks for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())
