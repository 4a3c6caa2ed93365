"""aiter's tables of tuned products: read without aiter, looked up as aiter does, and completed for its tuner.

The columns and the first rows are those of `aiter/configs` in version 0.1.7 of the wheel.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from hipward_kernels.linear import aiter_table
from hipward_kernels.linear.aiter_table import Shape, Table, files, read, rounded, shapes_of, write_untuned

ROOT = Path(__file__).parent.parent
COLUMNS = "M,N,K,bias,dtype,outdtype,scaleAB,cu_num,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw"
BF16 = "torch.bfloat16"

OLD = f"""{COLUMNS}
64,256,5120,False,{BF16},torch.float32,False,80,asm,1,10,8.3,_ZN5aiter28bf16gemm_outf32_tn_32x64_pf3E,0.0,20.21,402.69
128,688,256,False,{BF16},{BF16},False,304,hipblaslt,11,0,9.5,,0.0,4.7,60.0
128,688,256,False,{BF16},{BF16},False,304,asm,3,2,7.5,other_kernel,0.0,6.0,75.0
"""
NEW = f"""gfx,{COLUMNS.replace("scaleAB", "scaleAB,bpreshuffle")}
gfx950,128,256,688,False,{BF16},{BF16},False,False,304,asm,3,2,6.5,for_gfx950,0.0,6.0,75.0
gfx942,128,256,688,False,{BF16},{BF16},False,True,304,asm,3,2,5.5,for_shuffled_weights,0.0,6.0,75.0
gfx942,1024,256,688,True,{BF16},{BF16},False,False,304,skinny,3,2,5.5,,0.0,6.0,75.0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model_configs").mkdir()
    (tmp_path / "bf16_tuned_gemm.csv").write_text(OLD)
    (tmp_path / "model_configs" / "bf16_tuned_gemm_llama.csv").write_text(NEW)
    (tmp_path / "model_configs" / "llama_bf16_untuned_gemm.csv").write_text("M,N,K\n1,2,3\n")
    return tmp_path


@pytest.fixture
def table(folder: Path) -> Table:
    return Table([row for path in files(folder, {}) for row in read(path)])


def test_tables_of_the_package_and_of_models_are_read(folder: Path) -> None:
    assert [path.name for path in files(folder, {})] == ["bf16_tuned_gemm.csv", "bf16_tuned_gemm_llama.csv"]
    named = {"AITER_CONFIG_GEMM_BF16": "/a.csv:/b.csv"}
    assert files(folder, named) == [Path("/a.csv"), Path("/b.csv")]


@pytest.mark.parametrize(
    ("m", "n", "fine", "coarse"),
    [
        (1, 64, 16, 1),
        (17, 64, 32, 32),
        (300, 64, 320, 512),
        (1100, 64, 1152, 2048),
        (5000, 64, 5120, 8192),
        (9000, 8192, 9088, 8192),
        (9000, 64, 9088, 16384),
    ],
)
def test_rows_are_rounded_like_aiter(m: int, n: int, fine: int, coarse: int) -> None:
    assert (rounded(m, n, 0), rounded(m, n, 1)) == (fine, coarse)


def test_fastest_row_for_the_gpu_is_found(table: Table) -> None:
    for m in (128, 120, 100):
        row = table.find(Shape(m, 688, 256, bias=False, dtype=BF16), 304)
        assert row is not None
        assert (row.library, row.microseconds, row.kernel) == ("asm", 7.5, "other_kernel")
    assert table.find(Shape(128, 688, 256, bias=False, dtype=BF16), 80) is None
    # Its result is float32.
    assert table.find(Shape(64, 256, 5120, bias=False, dtype=BF16), 80) is None


def test_architecture_bias_and_shuffling_are_distinguished(table: Table) -> None:
    shape = Shape(128, 256, 688, bias=False, dtype=BF16)
    assert table.find(shape, 304, "gfx942") is None
    shuffled, other = table.find(shape, 304, "gfx942", shuffled=True), table.find(shape, 304, "gfx950")
    assert shuffled is not None
    assert other is not None
    assert (shuffled.kernel, other.kernel) == ("for_shuffled_weights", "for_gfx950")
    with_bias = table.find(Shape(900, 256, 688, bias=True, dtype=BF16), 304, "gfx942")
    assert with_bias is not None
    assert with_bias.shape.m == 1024


def test_unreadable_table_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("M,N,K\n1,2,3\n")
    with pytest.raises(ValueError, match="lacks the columns bias, cu_num"):
        read(path)
    path.write_text(OLD.replace("304", "many", 1))
    with pytest.raises(ValueError, match="line 3: invalid literal"):
        read(path)


def test_missing_shapes_are_written_for_the_tuner(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 8, bias=False), nn.Linear(8, 16)).to(torch.bfloat16)
    shapes = shapes_of(model, [1, 64])
    assert len(shapes) == 4
    write_untuned(tmp_path / "untuned.csv", shapes)
    with (tmp_path / "untuned.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["M", "N", "K", "bias", "dtype", "outdtype", "scaleAB"]
    assert rows[1] == ["1", "16", "8", "True", BF16, BF16, "False"]
    command = aiter_table.tuner_command(Path("a.csv"), Path("b.csv"), BF16)
    assert command[2:] == ["--input_file", "a.csv", "--tuned_file", "b.csv", "--indtype", "bf16"]


def test_command_lists_tuned_and_untuned_products(folder: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "hipward_kernels.linear.aiter_table",
        "examples/swiglu_mlp.py",
        "--rows",
        "128,512",
    ]
    command += ["--configs", str(folder), "--gpu", "MI300X", "--untuned", str(tmp_path / "untuned.csv")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "| 128 × 688 × 256 | no | 128 | asm | 7.5 | other_kernel |" in done.stdout
    assert "| 128 × 256 × 688 | no | | not tuned | | |" in done.stdout
    assert "1 of 4 products are tuned for MI300X (gfx942, 304 compute units)." in done.stdout
    assert "gemm_tuner.py --input_file" in done.stdout
    assert len((tmp_path / "untuned.csv").read_text().splitlines()) == 4
    command[-3] = "MI355X"
    assert "0 of 4 products" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_missing_aiter_is_reported() -> None:
    command = [sys.executable, "-m", "hipward_kernels.linear.aiter_table", "examples/swiglu_mlp.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "aiter is not installed; name the folder of its tables with --configs" in done.stderr
