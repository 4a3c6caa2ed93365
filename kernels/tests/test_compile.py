"""The ISA view: compiles sources to AMD machine code on a host without an AMD GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hipward_kernels.compile import CompileError, Request, compile_source, headers, record_launches
from hipward_kernels.compile.clang import clangs
from hipward_kernels.compile.occupancy import occupancy
from hipward_kernels.compile.record import RECORD, record

ROOT = Path(__file__).parent.parent

TRITON = """\
import triton
import triton.language as tl


@triton.jit
def square(x):
    return x * x


@triton.jit
def norm(x_ptr, y_ptr, stride, eps, N: tl.constexpr, BLOCK: tl.constexpr = 4096):
    at = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * stride
    x = tl.load(row + at, mask=at < N, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(square(x)) / N + eps)
    tl.store(y_ptr + tl.program_id(0) * stride + at, x * scale, mask=at < N)
"""
LOAD_LINE = 1 + TRITON.splitlines().index("    x = tl.load(row + at, mask=at < N, other=0.0).to(tl.float32)")

HIP = """\
#include <hip/hip_runtime.h>
template <int WAVE> __device__ float sum(float x) {
  for (int step = WAVE / 2; step; step /= 2) x += __shfl_xor(x, step);
  return x;
}
__global__ void __launch_bounds__(256) norm(const float4* x, float4* y, float eps) {
  __shared__ float parts[4];
  float4 v = x[blockIdx.x * 256 + threadIdx.x];
  float whole = sum<64>(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
  if (threadIdx.x % 64 == 0) parts[threadIdx.x / 64] = whole;
  __syncthreads();
  float scale = rsqrtf((parts[0] + parts[1] + parts[2] + parts[3]) / 1024 + eps);
  y[blockIdx.x * 256 + threadIdx.x] = {v.x * scale, v.y * scale, v.z * scale, v.w * scale};
}
"""

needs_clang = pytest.mark.skipif(not clangs(), reason="no clang with an AMD GPU target: install clang-22")


def compiled(directory: Path, **request: Any) -> dict[str, Any]:
    return compile_source(Request.from_json(request), directory)


def moves(kernel: dict[str, Any]) -> set[tuple[str, int]]:
    return {(move["kind"], move["bytes"]) for move in kernel["resources"]["memory"]}


def test_triton_kernel_has_its_resource_usage_per_gpu(tmp_path: Path) -> None:
    answer = compiled(tmp_path, language="triton", source=TRITON, arguments={"N": 4096})
    assert [target["arch"] for target in answer["targets"]] == ["gfx90a", "gfx942", "gfx950"]
    for target in answer["targets"]:
        assert target["error"] is None
        (kernel,) = target["kernels"]
        used = kernel["resources"]
        assert used["name"] == "norm"
        assert used["vgpr_spills"] == used["sgpr_spills"] == used["scratch_bytes"] == 0
        # Requested at launch, so the code does not declare it: one float for each of four wavefronts.
        assert used["lds_bytes"] == 16
        assert moves(kernel) >= {("global load", 16), ("global store", 16)}
        assert kernel["occupancy"]["workgroup_waves"] == answer["num_warps"] == 4
        assert 0 < target["seconds"] < answer["seconds"]
        assert set(target["texts"]) == {"ttir", "ttgir", "llir", "amdgcn"}
        assert f"amdhsa-unknown-{target['arch']}" in target["texts"]["amdgcn"]


def test_guesses_are_reported_and_requested_values_are_used(tmp_path: Path) -> None:
    asked = {"N": 1000, "x_ptr": "*fp32", "stride": "i32"}
    answer = compiled(tmp_path, language="triton", source=TRITON, archs=["gfx942"], arguments=asked)
    said = {a["name"]: (a["type"], a["value"], a["source"]) for a in answer["signature"]}
    assert said == {
        "x_ptr": ("*fp32", None, "request"),
        "y_ptr": ("*bf16", None, "guess"),
        "stride": ("i32", None, "request"),
        "eps": ("fp32", None, "guess"),
        "N": ("constexpr", 1000, "request"),
        "BLOCK": ("constexpr", 4096, "default"),
    }
    # Without a promise about the stride no row is known to begin at a multiple of 16 bytes.
    assert ("global load", 16) not in moves(answer["targets"][0]["kernels"][0])


def test_autotuned_kernel_uses_its_first_configuration(tmp_path: Path) -> None:
    tuned = TRITON.replace("BLOCK: tl.constexpr = 4096", "BLOCK: tl.constexpr").replace(
        "@triton.jit\ndef norm",
        "@triton.autotune([triton.Config({'BLOCK': 2048}, num_warps=8)], key=[])\n@triton.jit\ndef norm",
    )
    answer = compiled(tmp_path, language="triton", source=tuned, archs=["gfx942"], arguments={"N": 2048})
    assert answer["num_warps"] == 8
    assert answer["signature"][-1] == {"name": "BLOCK", "type": "constexpr", "value": 2048, "source": "autotune"}


def instructions_of(target: dict[str, Any], line: int) -> str:
    """The assembly that a line of the source became."""
    text = target["texts"]["amdgcn"].splitlines()
    return "\n".join(
        row for part in target["lines"] if part["source"] == line for row in text[part["first"] - 1 : part["last"]]
    )


def test_instructions_map_to_their_source_line(tmp_path: Path) -> None:
    (target,) = compiled(tmp_path, language="triton", source=TRITON, archs=["gfx942"], arguments={"N": 4096})["targets"]
    assert "_load_dwordx4" in instructions_of(target, LOAD_LINE)
    assert "_store_" not in instructions_of(target, LOAD_LINE)
    assert "_store_dwordx4" in instructions_of(target, LOAD_LINE + 2)


@needs_clang
def test_hip_kernel_has_a_listing_and_headers_map_to_the_line_that_uses_them(tmp_path: Path) -> None:
    answer = compiled(tmp_path, language="hip", source=HIP)
    assert answer["compiler"].startswith("clang ")
    for target in answer["targets"]:
        (kernel,) = target["kernels"]
        assert kernel["resources"]["name"].startswith("norm(")
        assert kernel["resources"]["lds_bytes"] == 16
        assert kernel["resources"]["most_threads"] == 256
        assert moves(kernel) >= {("global load", 16), ("global store", 16), ("lds load", 16)}
        assert "global_load_dwordx4" in instructions_of(target, 8)
        # __shfl_xor is inlined from HIP's headers into line 3.
        assert "ds_bpermute" in instructions_of(target, 3) or "ds_swizzle" in instructions_of(target, 3)
        assert "s_barrier" in instructions_of(target, 11)
        assert str(tmp_path) not in json.dumps(target)


@needs_clang
def test_compilation_is_reproducible_and_has_no_undefined_symbols(tmp_path: Path) -> None:
    source = """
#include <hip/hip_runtime.h>
__global__ void f(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) + tanhf(x[i]) + __ballot(x[i] > 0);
}"""
    texts = []
    for flags in ([], [], ["-ffast-math"]):
        (target,) = compiled(tmp_path, language="hip", source=source, archs=["gfx90a"], flags=flags)["targets"]
        assert target["error"] is None
        assert "__oclc" not in target["texts"]["amdgcn"]
        assert "amdgpu_kernel void @_Z1fPKfPfi(" in target["texts"]["llir"]
        texts.append(target["texts"])
    assert texts[0] == texts[1]
    assert texts[2]["amdgcn"] != texts[0]["amdgcn"]


@needs_clang
def test_precompiled_headers_produce_the_same_code(tmp_path: Path) -> None:
    request = {"language": "hip", "source": HIP, "archs": ["gfx942"]}
    before = compiled(tmp_path, **request)["targets"][0]
    headers.parse_ahead(tmp_path).join()
    assert (tmp_path / "headers-gfx942.pch").exists()
    after = compiled(tmp_path, **request)["targets"][0]
    assert after["kernels"] == before["kernels"]
    assert after["lines"] == before["lines"]


@needs_clang
def test_lds_estimate_matches_the_compiler(tmp_path: Path) -> None:
    source = """
#include <hip/hip_runtime.h>
__global__ void __launch_bounds__(256) turn(const float* x, float* y) {
  __shared__ float tile[%d];
  for (int i = threadIdx.x; i < %d; i += 256) tile[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < %d; i += 256) y[i] = tile[%d - i];
}"""
    for floats in (4 * 1024, 6 * 1024, 10 * 1024):
        text = source % (floats, floats, floats, floats - 1)
        (target,) = compiled(tmp_path, language="hip", source=text, archs=["gfx942"])["targets"]
        (kernel,) = target["kernels"]
        assert kernel["occupancy"]["limited_by"] == "lds"
        # LLVM counts the same LDS, in wavefronts of one of the four SIMDs.
        assert kernel["occupancy"]["waves_per_cu"] == 4 * kernel["resources"]["waves_per_simd"]


@pytest.mark.parametrize(
    ("arch", "registers", "lds", "waves", "fits"),
    [
        ("gfx942", 8, 0, 4, (32, "hardware")),
        ("gfx942", 8, 32 * 1024, 4, (8, "lds")),
        ("gfx950", 8, 32 * 1024, 4, (16, "lds")),
        ("gfx942", 3, 1024, 8, (8, "registers")),
        ("gfx942", 8, 0, 2, (32, "hardware")),
        ("gfx942", 8, 65 * 1024, 4, (0, "lds")),
    ],
)
def test_occupancy_counts_whole_workgroups(
    arch: str, registers: int, lds: int, waves: int, fits: tuple[int, str]
) -> None:
    found = occupancy(arch, registers, lds, waves)
    assert (found.waves_per_cu, found.limited_by) == fits


@pytest.mark.parametrize(
    ("request_", "code", "says"),
    [
        ({"language": "cuda", "source": "x"}, "bad-request", "language is `triton` or `hip`"),
        ({"language": "hip", "source": "x", "flags": ["-include/etc/passwd"]}, "bad-request", "not allowed"),
        ({"language": "hip", "source": "x", "archs": ["sm_90"]}, "bad-request", "'sm_90' is not a target"),
        ({"language": "hip", "source": "x", "arch": "gfx942"}, "bad-request", "unknown fields: arch"),
        ({"language": "triton", "source": "def f(:"}, "source-error", "not Python"),
        ({"language": "triton", "source": "import no_such_thing"}, "source-error", "ModuleNotFoundError"),
        ({"language": "triton", "source": "x = 1"}, "signature", "no function under triton.jit"),
        ({"language": "triton", "source": TRITON, "kernel": "nrm"}, "signature", "no kernel nrm"),
        ({"language": "triton", "source": TRITON}, "signature", "N is a tl.constexpr without a default"),
        ({"language": "triton", "source": TRITON, "arguments": {"n": 1}}, "signature", "no argument n"),
        ({"language": "triton", "source": TRITON, "arguments": {"x_ptr": "f8"}}, "signature", "'f8' is not a type"),
    ],
)
def test_uncompilable_source_reports_why(tmp_path: Path, request_: dict[str, Any], code: str, says: str) -> None:
    with pytest.raises(CompileError) as raised:
        compiled(tmp_path, **request_)
    assert raised.value.failure.code == code
    assert says in raised.value.failure.message
    assert raised.value.failure.help


def test_compiler_error_has_its_line_and_other_targets_are_compiled(tmp_path: Path) -> None:
    wrong = TRITON.replace("x * scale", "x * scal")
    (target,) = compiled(tmp_path, language="triton", source=wrong, archs=["gfx942"], arguments={"N": 64})["targets"]
    assert target["error"]["code"] == "source-error"
    assert "scal is not defined" in target["error"]["message"]
    assert target["error"]["line"] == LOAD_LINE + 2
    answer = compiled(tmp_path, language="triton", source=TRITON, archs=["gfx942", "gfx9999"], arguments={"N": 64})
    assert [target["error"] and target["error"]["code"] for target in answer["targets"]] == [None, "unknown-arch"]


@needs_clang
def test_error_in_a_header_has_the_line_of_its_call_and_no_folders(tmp_path: Path) -> None:
    source = """#include <hip/hip_runtime.h>
__global__ void f(unsigned long long* x) {
  x[0] = __ballot_sync(0xffffffff, 1);
}"""
    (target,) = compiled(tmp_path, language="hip", source=source, archs=["gfx942"])["targets"]
    message = target["error"]["message"]
    assert target["error"]["line"] == 3
    assert message.startswith("hip/amd_detail/amd_warp_sync_functions.h:")
    assert "kernel.hip:3:10: note: in instantiation of function template" in message
    assert "In file included" not in message
    assert "/include/" not in message


@needs_clang
def test_code_generation_error_omits_the_printed_ir(tmp_path: Path) -> None:
    source = """
#include <hip/hip_runtime.h>
__global__ void f(float* x) {
  __shared__ float tile[20000];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x ^ 1];
}"""
    (target,) = compiled(tmp_path, language="hip", source=source, archs=["gfx942"])["targets"]
    assert target["error"]["code"] == "source-error"
    assert "local memory (80000) exceeds limit (65536)" in target["error"]["message"]
    assert "IR Dump" not in target["error"]["message"]


@needs_clang
def test_clang_error_has_its_line_and_unknown_gpu_is_reported(tmp_path: Path) -> None:
    answer = compiled(tmp_path, language="hip", source=HIP.replace("eps);", "epsilon);"), archs=["gfx942", "gfx9999"])
    wrong, unknown = (target["error"] for target in answer["targets"])
    assert (wrong["code"], wrong["line"]) == ("source-error", 12)
    assert "epsilon" in wrong["message"]
    assert unknown["code"] == "unknown-arch"


class Worker:
    """The process, as the runner has it."""

    def __init__(self, directory: Path) -> None:
        read, write = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hipward_kernels.compile.worker", "--events-fd", str(write)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            cwd=directory,
            pass_fds=[write],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        os.close(write)
        self.answers = os.fdopen(read, encoding="utf-8")
        assert json.loads(self.answers.readline()) == {"type": "ready"}

    def ask(self, request: dict[str, Any] | str) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write((request if isinstance(request, str) else json.dumps(request)) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.answers.readline())
        return answer

    def leave(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        self.answers.close()
        return self.process.wait(60)


def test_warm_worker_writes_one_line_per_request(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    good = {"language": "triton", "source": TRITON, "archs": ["gfx942"], "arguments": {"N": 4096}}
    first = worker.ask(good)
    assert first["type"] == "compiled"
    noisy = "import os, sys\nprint('x' * 100000)\nos.write(3, b'{}')\nprint(sys.stdin.read())\nsys.exit(3)\n"
    for source, code in ((noisy, "source-error"), ("raise KeyboardInterrupt", "source-error")):
        answer = worker.ask({"language": "triton", "source": source})
        assert (answer["type"], answer["code"]) == ("error", code)
    assert worker.ask("nonsense")["code"] == "bad-request"
    again = worker.ask(good)
    assert again["targets"][0]["kernels"] == first["targets"][0]["kernels"]
    assert worker.leave() == 0


def test_command_prints_a_report(tmp_path: Path) -> None:
    file = tmp_path / "norm.py"
    file.write_text(TRITON)
    done = subprocess.run(
        [sys.executable, "-m", "hipward_kernels.compile", str(file), "--arch", "gfx942", "--arg", "N=4096", "--asm"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "gfx942 norm: " in done.stdout
    assert f"{LOAD_LINE:>5} \t" in done.stdout
    assert "_load_dwordx4" in done.stdout


def test_command_fails_for_a_source_that_does_not_compile(tmp_path: Path) -> None:
    file = tmp_path / "broken.hip"
    file.write_text("__global__ void k(")
    command = [sys.executable, "-m", "hipward_kernels.compile", str(file), "--arch", "gfx942"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "gfx942: kernel.hip:1:" in done.stdout


def test_example_of_the_site_matches_this_compiler() -> None:
    recorded, made = json.loads(RECORD.read_text(encoding="utf-8")), record()
    renew = "renew it: python -m hipward_kernels.compile.record"
    assert recorded["source"] == made["source"], renew
    for target in made["answer"]["targets"]:
        assert target["error"] is None
    if recorded["answer"]["compiler"] == made["answer"]["compiler"]:
        was, now = recorded["answer"]["targets"], made["answer"]["targets"]
        assert [t["kernels"] for t in was] == [t["kernels"] for t in now], renew
        assert [t["lines"] for t in was] == [t["lines"] for t in now], renew


@pytest.mark.parametrize("launch", record_launches.LAUNCHES, ids=lambda launch: launch.name)
def test_launch_of_the_site_matches_this_compiler(launch: record_launches.Launch) -> None:
    recorded = json.loads(record_launches.RECORD.read_text(encoding="utf-8"))["launches"]
    [was] = [one for one in recorded if one["name"] == launch.name]
    renew = "renew it: python -m hipward_kernels.compile.record_launches"
    assert was["source"] == launch.file.read_text(encoding="utf-8"), renew
    assert was["arguments"] == launch.arguments, renew
    if launch.file.suffix == ".hip" and not clangs():
        pytest.skip("no clang with an AMD target")
    made = record_launches.record_launch(launch)
    if was["compiler"] == made["compiler"]:
        assert was == made, renew
