"""The harness as a child process: one job in, JSON lines out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import pytest
import torch
from forked_worker import run_job

from hipward_kernels.harness.deadline import Deadline
from hipward_kernels.harness.job import sampling_s
from hipward_kernels.harness.time_shares import share_s
from hipward_kernels.harness.variants import VARIANTS

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

TEXT, NUMBER = (str,), (int, float)
FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "ready": {},
    "accepted": {},
    "environment": {
        **dict.fromkeys(("device_name", "arch", "torch", "python", "clock", "cache", "stop_rule"), TEXT),
        "threads": (int,),
        "clock_overhead_ms": NUMBER,
        "variables": (list,),
        "throttle": TEXT,
        "idle": (dict,),
        "audit": (list,),
    },
    "step": {"step": TEXT},
    "unavailable": {"variant": TEXT, "reason": TEXT},
    "precision": {"variant": TEXT, "passed": (bool,), "outputs": (list,), "seeds": (int,), "reference": TEXT},
    "variants": {"variants": (list,)},
    "compile": {"variant": TEXT, "seconds": NUMBER, "based_on": (list,), "includes": (list,)},
    "roofline": {
        **dict.fromkeys(("bytes_read", "bytes_written", "flops"), (int,)),
        **dict.fromkeys(("copy_gbs", "bandwidth_gbs", "floor_ms"), NUMBER),
        **dict.fromkeys(("bandwidth_source", "peak_source", "bound"), TEXT),
    },
    "warning": {"text": TEXT},
    "hot": {"variant": TEXT, "hot": (dict,)},
    "samples": {"variant": TEXT, "round": (int,), "ms": (list,)},
    "sampled": {"variant": TEXT, "stop": TEXT, "dropped": (int,)},
    "error": {"code": TEXT, "message": TEXT, "help": TEXT},
    "finished": {},
}
OPTIONAL = {
    "environment": {"triton", "hip", "cuda", "driver"},
    "step": {"variant"},
    "precision": {"reason"},
    "error": {"traceback"},
    "roofline": {"peak_tflops"},
}
OUTPUT = {"name", "shape", "dtype", "cosine", "max_abs", "rms", "eager_max_abs", "eager_rms", "mismatch", "limit_used"}


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@dataclass
class Outcome:
    """Everything that a job left."""

    lines: list[dict[str, Any]]
    stdout: str
    stderr: str
    status: int

    def of(self, kind: str, variant: str | None = None) -> list[dict[str, Any]]:
        return [x for x in self.lines if x["type"] == kind and variant in (None, x.get("variant"))]

    @property
    def error(self) -> dict[str, Any]:
        assert self.lines[-1]["type"] == "error", self.lines[-1]
        return self.lines[-1]

    def reason(self, variant: str) -> str:
        """Why a variant was not timed."""
        assert self.of("sampled", variant) == []
        (line,) = [x for x in self.of("precision", variant) + self.of("unavailable", variant) if "reason" in x]
        return str(line["reason"])


def run(
    code: str,
    *variants: str,
    directory: Path,
    limit_bytes: int | None = None,
    cap: float = 0.3,
    nonce: str | None = None,
    checked: bool = True,
    limit_s: float | None = None,
) -> Outcome:
    """Runs a job in a worker, and checks every line's form."""
    job = {"code": code, "variants": ["eager", *variants], "device": "cpu", "time_cap_s": cap, "nonce": nonce}
    if limit_s is not None:
        job["time_limit_s"] = limit_s
    with TemporaryDirectory() as scratch:
        stdout, stderr = Path(scratch, "stdout"), Path(scratch, "stderr")
        events, status = run_job(json.dumps(job), directory, stdout, stderr, limit_bytes)
        printed = stdout.read_text(), stderr.read_text()
    first, *lines = [json.loads(line, parse_constant=refuse_constant) for line in events.splitlines()]
    assert first == {"type": "ready"}
    for line in lines if checked else ():
        check_form(line)
    return Outcome(lines, *printed, status)


def check_form(line: dict[str, Any]) -> None:
    kind = line["type"]
    required = FIELDS[kind]
    assert required.keys() <= line.keys() - {"type"} <= required.keys() | OPTIONAL.get(kind, set()), line
    for name, types in required.items():
        assert isinstance(line[name], types), (name, line)
    for output in line.get("outputs", []):
        assert output.keys() == OUTPUT


def snippet(forward: str = "x + self.weight", **parts: str) -> str:
    """A small snippet, with parts replaced."""
    return f"""
import torch
from torch import nn
{parts.get("top", "")}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))
        {parts.get("init", "")}

    def forward(self, x):
        return {forward}

{parts.get("new", "")}

def get_inputs():
    return {parts.get("inputs", "[torch.randn(4, 16)]")}

def get_init_inputs():
    return []
"""


def test_job_writes_all_lines_in_order(tmp_path: Path) -> None:
    code = (EXAMPLES / "swiglu_mlp.py").read_text()
    job = run(code, "eager-control", "compile", "fused-ops", "fused-projections", "model-new", directory=tmp_path)
    assert job.status == 0, job.stderr
    assert job.lines[0] == {"type": "accepted"}
    assert job.lines[1]["type"] == "environment"
    assert job.lines[-1] == {"type": "finished"}
    assert job.reason("fused-ops") == "Triton needs a GPU; this job runs on the CPU."

    timed = ["eager", "eager-control", "compile", "fused-projections", "model-new"]
    below = {line["variant"]: line["based_on"] for line in job.of("compile")}
    assert below == {**{variant: [] for variant in timed}, "fused-projections": ["compile"]}
    checked = [line["variant"] for line in job.of("precision")]
    assert checked == timed
    assert all(line["passed"] and line["seeds"] == 5 and line["reference"] == "float64" for line in job.of("precision"))
    assert [line["variant"] for line in job.of("compile")] == timed
    assert sorted(line["variant"] for line in job.of("sampled")) == sorted(timed)
    for variant in timed:
        samples = job.of("samples", variant)
        assert [line["round"] for line in samples] == list(range(len(samples)))
        assert len(samples) >= 3
        assert all(ms > 0 for line in samples for ms in line["ms"])
    first_sample = job.lines.index(job.of("samples")[0])
    assert first_sample > job.lines.index(job.of("compile")[-1])

    environment = job.of("environment")[0]
    assert environment["threads"] == 1
    assert ["OMP_NUM_THREADS", "1"] in environment["variables"]
    assert environment["clock"] == "monotonic clock"
    assert 0 < environment["clock_overhead_ms"] < 1
    assert "0.3 s" in environment["stop_rule"]


def test_variants_without_effect_are_reported(tmp_path: Path) -> None:
    job = run(snippet(), "fused-projections", "model-new", directory=tmp_path)
    assert job.reason("fused-projections").startswith("No linear layers that read the same tensor")
    assert job.reason("model-new") == "The snippet has no ModelNew."
    assert job.lines[-1] == {"type": "finished"}


def test_model_with_a_lambda_over_its_modules_is_compared_in_float64(tmp_path: Path) -> None:
    inner = "self.inner = nn.Linear(16, 16); self.call = lambda x: self.inner(x)"
    job = run(snippet("self.call(x)", init=inner), "eager-control", directory=tmp_path)
    assert [line["reference"] for line in job.of("precision")] == ["float64", "float64"]
    assert all(line["passed"] for line in job.of("precision"))


MODEL_NEW = """
class ModelNew(Model):
    def forward(self, x):
        {}
"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return (x + self.weight)[:2]", "ModelNew returned output 0 with shape [2, 16]; Model returns shape [4, 16]."),
        ("return (x + self.weight) / 0 * 0", "ModelNew returned NaN or infinity in output 0; Model does not."),
        ("return x.add_(self.weight)", "ModelNew changed its inputs, which Model leaves as they are."),
        ("return x @ self.weight.cuda()", "ModelNew raised "),
        ("raise SystemExit", "ModelNew raised SystemExit"),
    ],
)
def test_wrong_model_new_is_rejected_and_eager_is_measured(tmp_path: Path, body: str, says: str) -> None:
    job = run(snippet(new=MODEL_NEW.format(body)), "model-new", directory=tmp_path)
    assert job.reason("model-new").startswith(says)
    assert len(job.of("sampled", "eager")) == 1
    assert job.lines[-1] == {"type": "finished"}


def test_wrong_result_during_timing_is_detected(tmp_path: Path) -> None:
    cheat = """
class ModelNew(Model):
    calls = 0
    def forward(self, x):
        self.calls += 1
        if self.calls <= 5:
            self.kept = x + self.weight
        return self.kept
"""
    job = run(snippet(new=cheat), "model-new", directory=tmp_path)
    last = job.of("precision", "model-new")[-1]
    assert last["passed"] is False
    assert last["reason"] == "ModelNew returned output 0 of other inputs, or changed it, in a timed call."
    assert job.of("sampled", "model-new") == []


UNPRINTABLE = """
class Unprintable(Exception):
    def __str__(self):
        raise self
"""


@pytest.mark.parametrize(
    ("code", "failure", "says", "helps"),
    [
        ("def forward(x:\n    return x\n", "syntax-error", "Line 1: '(' was never closed.", "pasted completely"),
        ("x = 1\x00", "syntax-error", "Python cannot parse this code: ", "plain text"),
        ("x = 1\n", "contract-missing", "no Model and no get_inputs and no get_init_inputs", "class Model(nn.Module)"),
        (snippet(inputs="torch.randn(4, 16)"), "contract-missing", "returned a Tensor; it must return a list", "[x]"),
        (
            snippet(top="import flash_attn"),
            "import-error",
            "No module named 'flash_attn'",
            "python -m pip install flash_attn",
        ),
        (snippet(top="import sys; sys.exit(3)"), "import-error", "ended the program", "sys.exit()"),
        (snippet(init="raise ValueError('too wide')"), "init-error", "raised ValueError: too wide", "Run the snippet"),
        (snippet("x @ self.weight.view(2, 8)"), "forward-error", "cannot be multiplied", "Two sizes do not match"),
        (
            snippet("x * next(self.n)", init="self.n = iter(range(10**6))"),
            "forward-error",
            "another result",
            "counters",
        ),
        (snippet("x / 0"), "not-finite", "Output 0 of Model contains NaN or infinity", "division by zero"),
        (snippet("None"), "contract-missing", "returned None, so there is no tensor to compare", "Return a tensor"),
        (snippet("{}"), "contract-missing", "returned nothing, so there is no tensor", "Return a tensor"),
        (snippet("x.numpy()"), "contract-missing", "returned a ndarray, so there is no tensor", "Return a tensor"),
        (snippet(inputs="[torch.randn(4, 16, device='cuda')]"), "contract-missing", "get_inputs raised", "on the CPU"),
        (snippet("[x] * 1001"), "contract-missing", "returned 1,001 outputs; at most 1,000", "torch.stack"),
        (snippet(init="raise ValueError('\\udc80')"), "init-error", "raised ValueError: ?", "Run the snippet"),
        (snippet(top=UNPRINTABLE, init="raise Unprintable"), "init-error", "raised Unprintable", "Run the snippet"),
        (snippet(init="raise ValueError('x' * 50_000_000)"), "init-error", "raised ValueError: xxx", "Run the snippet"),
    ],
)
def test_bad_snippet_fails_with_code_message_and_help(
    tmp_path: Path, code: str, failure: str, says: str, helps: str
) -> None:
    job = run(code, directory=tmp_path)
    assert job.status == 0
    assert job.error["code"] == failure
    assert says in job.error["message"]
    assert helps in job.error["help"]
    assert job.of("sampled") == []


def test_fields_of_a_dataclass_are_outputs(tmp_path: Path) -> None:
    code = snippet(
        "Out(x + self.weight)",
        top="import dataclasses\n@dataclasses.dataclass\nclass Out:\n    y: torch.Tensor",
        new="class ModelNew(Model):\n    def forward(self, x):\n        return Out(x - self.weight)",
    )
    job = run(code, "model-new", directory=tmp_path)
    gate = {line["variant"]: line for line in job.of("precision")}
    assert gate["eager"]["passed"]
    assert [output["name"] for output in gate["eager"]["outputs"]] == ["y"]
    assert not gate["model-new"]["passed"]


def test_name_of_an_output_that_utf8_does_not_have_is_replaced(tmp_path: Path) -> None:
    job = run(snippet("{'\\udc80': x + self.weight}"), directory=tmp_path)
    assert [output["name"] for output in job.of("precision", "eager")[0]["outputs"]] == ["?"]
    assert job.lines[-1] == {"type": "finished"}


def test_traceback_shows_only_lines_of_the_snippet(tmp_path: Path) -> None:
    error = run(snippet("self.inner(x)", init="self.inner = lambda x: x.no_such"), directory=tmp_path).error
    assert error["code"] == "forward-error"
    assert "no attribute 'no_such'" in error["message"]
    frames = [line for line in error["traceback"].splitlines() if line.startswith("  File ")]
    assert len(frames) == 2
    assert all('"snippet.py"' in frame for frame in frames)
    assert "return self.inner(x)" in error["traceback"]


def test_unlimited_allocation_reaches_the_memory_limit(tmp_path: Path) -> None:
    code = snippet("[torch.empty(2**28) for _ in iter(int, 1)]")
    error = run(code, directory=tmp_path, limit_bytes=4 << 30).error
    assert error["code"] == "memory-limit"
    assert error["message"] == "Model.forward needed more memory than this job may use."


def test_output_and_forks_of_a_snippet_do_not_reach_the_lines(tmp_path: Path) -> None:
    noisy = """
import os, sys
for fd in range(3, 40):
    try:
        os.write(fd, b'not json')
    except OSError:
        pass
print('x' * 3_000_000)
print('e' * 100_000, file=sys.stderr)
print(sys.stdin.read() == '')
os.fork()
"""
    job = run(snippet(top=noisy), directory=tmp_path)
    assert [line["type"] for line in job.lines].count("finished") == 1
    assert len(job.of("sampled", "eager")) == 1
    assert job.stdout.startswith("x" * 1000)
    assert "True" in job.stdout


def test_invalid_job_is_an_error_and_end_of_input_stops_the_worker(tmp_path: Path) -> None:
    for request, last in (("nonsense\n", "error"), ("", "ready")):
        done = subprocess.run(
            ["/bin/sh", "-c", f'"{sys.executable}" -P -m hipward_kernels.harness.worker --events-fd 3 3>&1 >&2'],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            input=request,
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[-1]["type"] == last
        assert last == "ready" or lines[-1]["code"] == "internal"


def test_command_writes_lines_to_stdout_and_prints_to_stderr(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(snippet(top="print('hello')"))
    done = subprocess.run(
        [sys.executable, "-m", "hipward_kernels.harness", str(file), "--variants", "eager", "--time-cap", "0.1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {"type": "finished"}
    assert "hello" in done.stderr


def test_probe_names_the_processor(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hipward_kernels.harness.host_probe"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    host = json.loads(done.stdout)
    assert host.keys() == {"torch", "triton", "hip", "cuda", "python", "devices", "variants", "hip_compiler"}
    assert [variant["id"] for variant in host["variants"]] == list(VARIANTS)
    assert all(variant.keys() == {"id", "label", "about"} for variant in host["variants"])
    device = host["devices"][-1]
    assert (device["id"], device["vendor"]) == ("cpu", "cpu")
    assert device["memory_bytes"] > 2**30
    assert device.keys() == {"id", "name", "vendor", "arch", "memory_bytes"}


def test_slow_job_ends_before_its_time_limit_with_its_measurements(tmp_path: Path) -> None:
    slow = snippet(
        "(time.sleep(random.uniform(0.05, 0.35)), x + self.weight)[1]",
        top="import random, time",
        new=MODEL_NEW.format("return x + self.weight"),
    )
    begun = monotonic()
    job = run(slow, "eager-control", "model-new", directory=tmp_path, cap=600, limit_s=40)
    assert monotonic() - begun < 50, "with the time that PyTorch's import takes"
    assert job.lines[-1] == {"type": "finished"}
    stops = {line["variant"]: line["stop"] for line in job.of("sampled")}
    # The cap of a variant is at most its share of the time limit.
    assert {stops["eager"], stops["eager-control"]} <= {"time-limit", "time-cap"}
    assert len([ms for line in job.of("samples", "eager") for ms in line["ms"]]) >= 5


def test_slow_preparation_is_skipped_and_other_variants_are_measured(tmp_path: Path) -> None:
    new = "class ModelNew(Model):\n    def __init__(self):\n        super().__init__()\n        time.sleep(600)"
    job = run(snippet(top="import time", new=new), "eager-control", "model-new", directory=tmp_path, limit_s=20)
    assert job.lines[-1] == {"type": "finished"}
    assert job.reason("model-new") == "Left out: the job's time limit of 20 s was near."
    assert {line["variant"] for line in job.of("sampled")} == {"eager", "eager-control"}


def test_rejection_names_tf32_in_convolutions_as_the_cause(tmp_path: Path) -> None:
    rounds = "class ModelNew(Model):\n    def forward(self, x):\n        return super().forward(x) + {}"
    told = []
    for error in ("1e-3 * torch.backends.cudnn.allow_tf32", "1e-3"):
        job = run(snippet(new=rounds.format(error)), "model-new", directory=tmp_path)
        told.append("It passes without TF32 in convolutions" in job.reason("model-new"))
        assert job.lines[-1] == {"type": "finished"}
    assert told == [True, False]


def test_required_variants_divide_the_time_that_optional_ones_leave() -> None:
    rest = ["compile", "fused-ops", "everything", "model-new"]
    # Within a minute, all divide the time by weight; after it, only required ones.
    assert share_s(rest, left_s=40.0, optional_s=50.0) == pytest.approx(40.0 * 3 / 8)
    assert share_s(rest, left_s=200.0, optional_s=-5.0) == pytest.approx(100.0)
    assert share_s(rest[:-1], left_s=200.0, optional_s=-5.0) == pytest.approx(200.0)
    assert share_s(rest, left_s=240.0, optional_s=40.0) == pytest.approx((200.0 + 40.0 * 6 / 8) / 2)
    assert share_s(rest[1:], left_s=200.0, optional_s=50.0) == pytest.approx(10.0)
    assert share_s(rest[1:], left_s=200.0, optional_s=-5.0) < 0
    assert share_s(rest, left_s=inf, optional_s=inf) == inf


@pytest.mark.parametrize(("passed_s", "seconds"), [(5.0, 30.0), (50.0, 20.0 / 1.5), (90.0, 12.0)])
def test_sampling_is_shorter_in_a_job_that_has_taken_long(passed_s: float, seconds: float) -> None:
    deadline = Deadline(150.0)
    deadline._begin -= passed_s
    assert sampling_s(deadline, torch.device("cuda:0")) == pytest.approx(seconds, abs=0.1)
    assert sampling_s(Deadline(None), torch.device("cuda:0")) == 30.0
    assert sampling_s(deadline, torch.device("cpu")) == sampling_s(Deadline(None), torch.device("cpu")) == 3.0
