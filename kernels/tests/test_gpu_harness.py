"""Tests of the harness that need a GPU: side streams, hot and cold, clocks, the roofline, and DDP over NCCL.

For AMD and NVIDIA alike; skipped where there is no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

ROOT = Path(__file__).parent.parent

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn({columns}, {columns}).bfloat16())

    def forward(self, x):
        return x @ self.weight

side = None

class ModelNew(Model):
    def forward(self, x):
        {new}

def get_inputs():
    return [torch.randn({rows}, {columns}).bfloat16()]

def get_init_inputs():
    return []
"""


def run(tmp_path: Path, code: str, variants: str, *, cap: int = 1) -> list[dict[str, Any]]:
    file = tmp_path / "snippet.py"
    file.write_text(code)
    command = [sys.executable, "-m", "hipward_kernels.harness", str(file), "--device", "cuda:0", "--time-cap", str(cap)]
    done = subprocess.run([*command, "--variants", variants], cwd=ROOT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def job(tmp_path: Path, new: str, *, rows: int = 2048, columns: int = 4096) -> list[dict[str, Any]]:
    return run(tmp_path, MODEL.format(new=new, rows=rows, columns=columns), "eager,eager-control,model-new")


def test_job_has_roofline_hot_time_and_idle_readings(tmp_path: Path) -> None:
    lines = job(tmp_path, "return super().forward(x)")
    environment, floor = (
        next(line for line in lines if line["type"] == "environment"),
        next(line for line in lines if line["type"] == "roofline"),
    )
    assert environment["idle"]["source"] in ("NVML", "sysfs", "AMD SMI") or environment["idle"]["unreadable"]
    if environment["idle"]["source"]:
        assert 0 < environment["idle"]["sm_mhz"] <= environment["idle"]["max_sm_mhz"]
        assert 0 < environment["idle"]["temperature_c"] < 120
        assert environment["throttle"].startswith("turns are dropped")
    assert floor["bytes_read"] == 2 * (2048 * 4096 + 4096 * 4096)
    assert floor["bytes_written"] == 2 * 2048 * 4096
    assert floor["flops"] == 2 * 2048 * 4096 * 4096
    assert floor["bound"] == "compute"
    medians = {}
    for line in lines:
        if line["type"] == "hot":
            cold = sorted(
                ms for x in lines if x["type"] == "samples" and x["variant"] == line["variant"] for ms in x["ms"]
            )
            hot = line["hot"]
            medians[line["variant"]] = (cold[len(cold) // 2], sorted(hot["ms"])[len(hot["ms"]) // 2], hot["wall_ms"])
    assert set(medians) == {"eager", "eager-control", "model-new"}, lines
    for cold_ms, hot_ms, wall_ms in medians.values():
        assert floor["floor_ms"] < cold_ms
        assert hot_ms < 1.5 * cold_ms
        assert hot_ms < 1.1 * wall_ms
    print(
        json.dumps(
            {"medians": medians, "floor": floor, "idle": environment["idle"], "throttle": environment["throttle"]}
        )
    )


def test_host_bound_calls_are_reported(tmp_path: Path) -> None:
    many = "return super().forward(x) + sum(torch.zeros_like(x[0, 0]) for _ in range(40))"
    warnings = [line["text"] for line in job(tmp_path, many, rows=16, columns=16) if line["type"] == "warning"]
    assert any("waits for the host in" in text and "ModelNew" in text for text in warnings), warnings
    assert not any("slower with warm caches" in text for text in warnings), warnings
    warnings = [line["text"] for line in job(tmp_path, "return super().forward(x)") if line["type"] == "warning"]
    assert not any("waits for the host" in text for text in warnings), warnings


SLOWED = """
import time
import torch
from torch import nn

pause = []

class Model(nn.Module):
    def forward(self, x):
        if pause:
            time.sleep(0.01)
        return x.tanh()

class ModelNew(Model):
    calls = 0
    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 30 and SLOWS:
            pause.append(1)
        return x.tanh()

def get_inputs():
    return [torch.randn(1024, 1024)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("slows", [True, False])
def test_model_is_timed_before_modelnew_is_defined(slows: bool, tmp_path: Path) -> None:
    lines = run(tmp_path, SLOWED.replace("SLOWS", str(slows)), "eager,model-new", cap=2)
    assert {"type": "step", "step": "model-alone"} in lines
    warnings = [line["text"] for line in lines if line["type"] == "warning"]
    assert any("before ModelNew was defined, so no speed-up" in text for text in warnings) == slows, warnings


SIDE = """global side
        side = side or torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        y = torch.empty_like(x)
        with torch.cuda.stream(side):
            torch.mm(x, self.weight, out=y)
        return y"""


def test_work_on_an_unsynchronized_stream_is_rejected(tmp_path: Path) -> None:
    lines = job(tmp_path, SIDE)
    reasons = [line["reason"] for line in lines if line["type"] == "precision" and not line["passed"]]
    assert len(reasons) == 1, lines
    print(reasons)
    assert not [line for line in lines if line["type"] == "sampled" and line["variant"] == "model-new"]


def test_joined_side_stream_is_allowed(tmp_path: Path) -> None:
    lines = job(
        tmp_path,
        SIDE.replace("        return y", "        torch.cuda.current_stream().wait_stream(side)\n        return y"),
    )
    assert [line for line in lines if line["type"] == "sampled" and line["variant"] == "model-new"], lines


def test_replacing_timer_events_has_no_effect(tmp_path: Path) -> None:
    code = "torch.cuda.Event.elapsed_time = lambda self, other: 1e-6; return super().forward(x)"
    assert job(tmp_path, code)[-1]["code"] == "tampered"


def test_looking_for_the_event_that_starts_a_sample_fails_the_job(tmp_path: Path) -> None:
    """Recorded again when the work is done, it would leave nothing to measure."""
    again = """import ctypes
        api = ctypes.pythonapi
        api.PyThreadState_Get.restype = ctypes.c_void_p
        api.PyThreadState_GetFrame.restype = ctypes.py_object
        y = super().forward(x)
        frame = api.PyThreadState_GetFrame(ctypes.c_void_p(api.PyThreadState_Get())).f_back
        while frame is not None:
            names = frame.f_locals
            if "start" in names and "stream" in names and "events" in names:
                names["start"].record(names["stream"])
            frame = frame.f_back
        return y"""
    assert job(tmp_path, again, rows=8192)[-1]["code"] == "tampered"


def test_leaving_another_stream_current_fails_the_job(tmp_path: Path) -> None:
    left = "torch.cuda.set_stream(torch.cuda.Stream()); return super().forward(x)"
    error = job(tmp_path, left)[-1]
    assert error["code"] == "tampered"
    assert "current stream" in error["message"]


def test_processes_train_together_over_nccl(tmp_path: Path) -> None:
    """One process a GPU; with one GPU, one process, which still goes through the collectives."""
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={min(torch.cuda.device_count(), 2)}"]
    command += ["-m", "hipward_kernels.workshop.ddp_scaling", "--size", "tiny", "--models", "v1", "--num-steps", "5"]
    results = tmp_path / "results.csv"
    done = subprocess.run(
        [*command, "--results", str(results)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "over nccl" in done.stdout
    assert results.read_text(encoding="utf-8").count("\nddp,v1,tiny") == 5
