"""Headers that the server has precompiled spare a job their compilation, and change nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hipward_kernels.harness import vector_isa

ROOT = Path(__file__).parents[1]

COMPILE = """
import torch
from hipward_kernels.harness import cpp_headers
cpp_headers.link()
print(torch.compile(lambda x: x.exp() + 1)(torch.zeros(64)).sum().item())
"""


def environment(directory: Path, kept: Path | None = None) -> dict[str, str]:
    """The environment of a worker with this directory."""
    (directory / "tmp").mkdir(parents=True)
    cache = str(directory / "cache")
    own = {"TMPDIR": str(directory / "tmp"), "TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    headers = {} if kept is None else {"HIPWARD_CPP_HEADERS": str(kept)}
    return {**os.environ, **own, **headers, "PYTHONPATH": str(ROOT)}


def precompiled(directory: Path, kept: Path | None = None) -> Path:
    """What the module leaves, as the server copies it: the module waits until the server ends it."""
    readable, writable = os.pipe()
    module = [sys.executable, "-m", "hipward_kernels.harness.cpp_headers", "--events-fd", str(writable)]
    with subprocess.Popen(
        module, cwd=directory, env=environment(directory, kept), stdin=subprocess.PIPE, pass_fds=[writable]
    ) as process:
        os.close(writable)
        with os.fdopen(readable) as lines:
            line = lines.readline()
        process.kill()
    assert line == "ready\n"
    return directory / "cpp-headers"


def compiled(directory: Path, kept: Path) -> tuple[list[Path], list[Path]]:
    """The headers and the test libraries for instructions that a job compiles; its result has to be right."""
    ran = subprocess.run(
        [sys.executable, "-c", COMPILE], env=environment(directory, kept), capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "128.0"
    headers = [file for file in directory.rglob("*.gch") if not file.is_symlink()]
    sources = [file for file in directory.rglob("*.cpp") if "_chk_kernel" in file.read_text()]
    return headers, sources


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")
def test_a_job_uses_the_headers_of_its_host_only(tmp_path: Path) -> None:
    kept = precompiled(tmp_path / "server")
    facts = json.loads((kept / "host.json").read_text())
    headers, tests = compiled(tmp_path / "job", kept)
    assert headers == []
    assert tests == []

    assert not precompiled(tmp_path / "again", kept).exists(), "those that are kept are for this host"

    facts["host"][0] = "another PyTorch"
    (kept / "host.json").write_text(json.dumps(facts))
    headers, _ = compiled(tmp_path / "elsewhere", kept)
    assert len(headers) == 1


def test_the_extensions_of_kept_instruction_sets_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_vec_isa = pytest.importorskip("torch._inductor.cpu_vec_isa")
    config = pytest.importorskip("torch._inductor.config")
    # As on a host that has them all.
    for name in ("_is_avx512_bf16_supported", "_is_vnni_supported", "_is_amx_fp16_supported", "_init_amx"):
        monkeypatch.setattr(torch.cpu, name, lambda: True)
    kinds = [cpu_vec_isa.VecAMX, cpu_vec_isa.VecAVX512, cpu_vec_isa.VecAVX2]
    # Of classes of their own, because the answers are cached for this process.
    isas = [type(kind.__name__, (kind,), {"__hash__": object.__hash__})() for kind in kinds]
    monkeypatch.setattr(cpu_vec_isa, "supported_vec_isa_list", isas)
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", cpu_vec_isa.valid_vec_isa_list)

    def refuse(*_: object) -> bool:
        pytest.fail("a test library is compiled")

    # `monkeypatch` cannot restore this setting: the settings are not in the `__dict__` of their module.
    with config.patch({"cpp.vec_isa_ok": None}):
        vector_isa.use([(str(isa), {"_is_avx512_bf16_supported": False}) for isa in isas])
        monkeypatch.setattr(cpu_vec_isa.VecISA, "check_build", refuse)
        assert cpu_vec_isa.valid_vec_isa_list() == isas
        assert all(map(bool, isas))
        assert not any(getattr(isa, "_is_avx512_bf16_supported", False) for isa in isas)
