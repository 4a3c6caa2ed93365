"""Snippets with unusual inputs and models: measured, or refused with a sentence that states the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_harness import run, snippet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("forward", "inputs"),
    [
        ("x * self.weight", "[torch.randn(1, 16).expand(64, 16)]"),
        ("x * self.weight", "[torch.randn(16, 64).t()]"),
        ("x * self.weight", "[torch.randn(80).unfold(0, 16, 1)]"),
        ("x * self.weight", "[torch.randn(int(torch.randint(1, 9, ())), 16)]"),
        ("x[0]['a'] * (1 if x[1] is None else x[1])", "[[{'a': torch.randn(4, 16)}, None]]"),
        ("torch.fft.fft(x)", "[torch.randn(4, 16, dtype=torch.complex64)]"),
        ("x.view(16, 4)", "[torch.randn(4, 16)]"),
        ("x.add_(1)", "[torch.randn(4, 16)]"),
        ("nn.functional.dropout(x, 0.5, training=True)", "[torch.randn(64, 16)]"),
    ],
    ids=["expanded", "transposed", "windows", "changing shape", "nested", "complex", "view", "in place", "random"],
)
def test_unusual_inputs_are_measured(tmp_path: Path, forward: str, inputs: str) -> None:
    job = run(snippet(forward, inputs=inputs), "eager-control", directory=tmp_path)
    assert {line["variant"] for line in job.of("sampled")} == {"eager", "eager-control"}, job.lines[-3:]


def test_random_model_explains_why_another_implementation_differs(tmp_path: Path) -> None:
    new = (
        "class ModelNew(Model):\n    def forward(self, x):\n        return x * (torch.rand(x.shape).flip(0) > 0.5) * 2"
    )
    forward = "nn.functional.dropout(x, 0.5, training=True)"
    job = run(snippet(forward, new=new, inputs="[torch.randn(64, 16)]"), "model-new", directory=tmp_path)
    assert "Model draws random numbers" in job.reason("model-new")


@pytest.mark.parametrize(
    ("inputs", "forward", "says"),
    [
        ("[torch.eye(4).to_sparse()]", "x", "get_inputs() returned a sparse coo tensor as argument 0"),
        ("[torch.randn(4, 4, device='meta')]", "x", "Cannot copy out of meta tensor"),
        ("[[torch.eye(4).to_sparse_csr()]]", "x[0]", "get_inputs() returned a sparse csr tensor as argument 0.0"),
        ("[torch.eye(4)]", "x.to_sparse()", "Output 0 of Model.forward is a sparse coo tensor"),
    ],
)
def test_tensors_that_cannot_be_compared_are_refused(tmp_path: Path, inputs: str, forward: str, says: str) -> None:
    job = run(snippet(forward, inputs=inputs), directory=tmp_path)
    assert job.error["code"] == "contract-missing"
    assert says in job.error["message"]


def test_inputs_of_200_gigabytes_are_refused(tmp_path: Path) -> None:
    job = run(snippet(inputs="[torch.empty(50_000_000_000)]"), directory=tmp_path, limit_bytes=3 << 30)
    assert job.error["code"] == "memory-limit"
    assert job.error["message"] == "get_inputs needed more memory than this job may use."


def test_model_on_several_devices_is_refused(tmp_path: Path) -> None:
    code = snippet("self.other(x)", init="self.other = nn.Linear(16, 16, device='meta')")
    job = run(code, directory=tmp_path)
    assert job.error["code"] == "init-error"
    assert "meta" in job.error["message"]
    assert "Do not name devices in the snippet" in job.error["help"]


def test_model_that_runs_in_half_precision_only_is_measured(tmp_path: Path) -> None:
    """The model's own check of the dtype passes in the float64 reference, too."""
    check = "\n    def check(self, x):\n        assert x.dtype == torch.float16\n        return x * self.weight"
    code = snippet("self.check(x)", init=f"self.half(){check}", inputs="[torch.randn(4, 16).half()]")
    job = run(code, "eager-control", directory=tmp_path)
    assert {line["variant"] for line in job.of("sampled")} == {"eager", "eager-control"}, job.lines[-3:]


TURN = "torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (8, 2))) * self.turn).flatten(-2)"
"""RoPE with complex numbers, as Llama computes it."""


def test_model_with_a_complex_buffer_is_compared_in_float64(tmp_path: Path) -> None:
    new = (
        "class ModelNew(Model):\n    def forward(self, x):\n"
        "        return (x.unflatten(-1, (8, 2)) * self.turn.real.unsqueeze(-1)).flatten(-2)"
    )
    init = "self.register_buffer('turn', torch.polar(torch.ones(8), torch.arange(8.0)))"
    job = run(snippet(TURN, init=init, new=new), "model-new", directory=tmp_path)
    (eager,) = job.of("precision", "eager")
    assert eager["reference"] == "float64"
    assert eager["outputs"][0]["cosine"] > 0.999_999
    assert "is too far from the reference" in job.reason("model-new"), "it leaves out the sine"


def test_model_with_a_generator_of_its_own_is_refused(tmp_path: Path) -> None:
    top = "numbers = torch.Generator().manual_seed(3)"
    job = run(snippet("x + torch.randn(16, generator=numbers)", top=top), directory=tmp_path)
    assert job.error["message"].startswith("Model returns another result when it is called again")
    assert "no generator of its own" in job.error["help"]


def test_gate_that_accepts_much_is_a_caution(tmp_path: Path) -> None:
    job = run(snippet("torch.sin(x * 1e9)"), "eager-control", directory=tmp_path)
    (warning,) = [line["text"] for line in job.of("warning") if "is far from its reference" in line["text"]]
    assert "Wrong results that are as far from it pass the precision gate" in warning


def test_inputs_of_several_shapes_are_a_caution(tmp_path: Path) -> None:
    job = run(snippet(inputs="[torch.randn(int(torch.randint(1, 99, ())), 16)]"), directory=tmp_path)
    assert any("get_inputs() returns other shapes each time" in line["text"] for line in job.of("warning"))


@pytest.mark.parametrize("call", [1, 3])
def test_endless_get_inputs_is_named(tmp_path: Path, call: int) -> None:
    top = f"calls = []\ndef rows():\n    calls.append(1)\n    while len(calls) >= {call}:\n        pass\n    return 4"
    job = run(snippet(top=top, inputs="[torch.randn(rows(), 16)]"), directory=tmp_path, limit_s=12.0)
    assert job.error["code"] == "timeout"
    assert job.error["message"] == "get_inputs did not end within the job's time limit of 12 s."
    assert job.error["help"].startswith("Look for an infinite loop")
