"""The tables by which aiter selects a kernel for a matrix product, and the input of its tuner for shapes they lack.

    python -m hipward_kernels.linear.aiter_table layer.py --rows 1,128,2048 --gpu MI300X --untuned untuned.csv

aiter (`aiter/tuned_gemm.py`) looks up the exact number of compute units, rows M, outputs N, inputs K, bias, dtypes and
scales; then M rounded up finely and, last, to a power of two (`csrc/py_itfs_cu/gemm_common.cu`). A shape without a row
runs PyTorch's product, and in version 0.1.7 of the wheel raises a `KeyError`. The tables are CSV files, which are read
here without importing aiter: it needs ROCm. Rows of newer versions also name the architecture and whether the weight is
shuffled.

`--untuned` writes the missing shapes in the format of aiter's tuner and prints the command that tunes them.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from hipward_kernels.gpu.facts import products
from hipward_kernels.measure import subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hipward_kernels.harness.contract import Snippet

VARIABLE = "AITER_CONFIG_GEMM_BF16"
"""aiter's variable for other tables of 16-bit products; several paths, separated like those of `PATH`."""

TUNER_COLUMNS = ("M", "N", "K", "bias", "dtype", "outdtype", "scaleAB")

ROWS = (1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True)
class Shape:
    """A product `[m, k] @ [n, k].T`."""

    m: int
    n: int
    k: int
    bias: bool
    dtype: str
    """`torch.bfloat16`, as in the tables."""


@dataclass(frozen=True)
class Tuned:
    """A row of a table of 16-bit products."""

    shape: Shape
    out_dtype: str
    scaled: bool
    shuffled: bool
    """Whether the kernel reads a weight in the order of `preshuffle.py`."""
    units: int
    """Compute units of the GPU that it was tuned on."""
    arch: str | None
    """Its architecture, if the table names it."""
    library: str
    """`asm`, `hipblaslt`, `skinny`, `torch` and others."""
    kernel: str
    microseconds: float


def configs() -> Path:
    """The folder of the tables of the installed aiter, which is not imported.

    Raises:
        FileNotFoundError: aiter is not installed.
    """
    found = importlib.util.find_spec("aiter")
    if found is None or found.origin is None:
        raise FileNotFoundError("aiter is not installed; name the folder of its tables with --configs")
    return Path(found.origin).parent / "configs"


def files(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """The tables of 16-bit products that aiter reads."""
    if named := environment.get(VARIABLE):
        return [Path(path) for path in named.split(os.pathsep)]
    models = sorted((folder / "model_configs").glob("*bf16_tuned_gemm*"))
    return [folder / "bf16_tuned_gemm.csv", *(path for path in models if "untuned" not in path.name)]


def read(path: Path) -> list[Tuned]:
    """Reads a table.

    Raises:
        ValueError: It has other columns, or a value that is not a number.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if missing := {*TUNER_COLUMNS, "cu_num", "libtype", "us"} - set(reader.fieldnames or []):
            raise ValueError(f"{path} lacks the columns {', '.join(sorted(missing))}")
        try:
            return [_row(line) for line in reader]
        except ValueError as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _row(line: Mapping[str, str]) -> Tuned:
    shape = Shape(int(line["M"]), int(line["N"]), int(line["K"]), _is_true(line["bias"]), line["dtype"])
    return Tuned(
        shape=shape,
        out_dtype=line["outdtype"],
        scaled=_is_true(line["scaleAB"]),
        shuffled=_is_true(line.get("bpreshuffle", "")),
        units=int(line["cu_num"]),
        arch=line.get("gfx") or None,
        library=line["libtype"],
        kernel=line.get("kernelName") or "",
        microseconds=float(line["us"]),
    )


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def rounded(m: int, n: int, level: int) -> int:
    """The number of rows that aiter looks up at a level: 0 rounds up finely, 1 to a power of two."""
    if level == 0:
        step = 16 if m <= 256 else 32 if m <= 1024 else 64 if m <= 4096 else 128
        return -(-m // step) * step
    return 8192 if m > 8192 and n > 4096 else 1 << (m - 1).bit_length()


@dataclass(frozen=True)
class Table:
    """The rows of all tables."""

    rows: Sequence[Tuned]

    def find(self, shape: Shape, units: int, arch: str | None = None, *, shuffled: bool = False) -> Tuned | None:
        """The fastest row that aiter finds for a product without scales, whose result has the dtype of its factors."""
        for m in (shape.m, rounded(shape.m, shape.n, 0), rounded(shape.m, shape.n, 1)):
            wanted = Shape(m, shape.n, shape.k, shape.bias, shape.dtype)
            found = [
                row
                for row in self.rows
                if row.shape == wanted
                and row.out_dtype == shape.dtype
                and (row.scaled, row.shuffled, row.units) == (False, shuffled, units)
                and (row.arch is None or arch is None or row.arch == arch)
            ]
            if found:
                return min(found, key=lambda row: row.microseconds)
        return None


def shapes_of(model: nn.Module, rows: Iterable[int]) -> list[Shape]:
    """The products of the linear layers of a model for some numbers of rows, each once."""
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    found = [
        Shape(m, layer.out_features, layer.in_features, layer.bias is not None, str(layer.weight.dtype))
        for layer in layers
        for m in rows
    ]
    return list(dict.fromkeys(found))


def write_untuned(path: Path, shapes: Iterable[Shape]) -> None:
    """Writes shapes in the format that aiter's tuner reads."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TUNER_COLUMNS)
        writer.writerows((s.m, s.n, s.k, s.bias, s.dtype, s.dtype, False) for s in shapes)


def tuner() -> str:
    """Path of aiter's tuner: that of the installed wheel, or its path in aiter's repository."""
    found = importlib.util.find_spec("aiter_meta")
    for folder in found.submodule_search_locations or [] if found is not None else []:
        path = Path(folder) / "gradlib" / "gradlib" / "gemm_tuner.py"
        if path.is_file():
            return str(path)
    return "gradlib/gradlib/gemm_tuner.py"


def tuner_command(untuned: Path, tuned: Path, dtype: str) -> list[str]:
    """The command line that tunes the shapes of a file on this GPU; run it with `AITER_CONFIG_GEMM_BF16` unset."""
    short = {"torch.bfloat16": "bf16", "torch.float16": "f16"}[dtype]
    return ["python3", tuner(), "--input_file", str(untuned), "--tuned_file", str(tuned), "--indtype", short]


def report(shapes: Sequence[Shape], table: Table, units: int, arch: str) -> str:
    """A Markdown table of what aiter runs for each shape."""
    lines = ["| M × N × K | bias | tuned for M | library | µs | kernel |", "| --- | --- | ---: | --- | ---: | --- |"]
    for shape in shapes:
        name = f"{shape.m} × {shape.n} × {shape.k} | {'yes' if shape.bias else 'no'}"
        row = table.find(shape, units, arch)
        if row is None:
            lines.append(f"| {name} | | not tuned | | |")
        else:
            lines.append(f"| {name} | {row.shape.m} | {row.library} | {row.microseconds:g} | {row.kernel} |")
    return "\n".join(lines)


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.linear.aiter_table", description=__doc__)
    parser.add_argument("file", type=Path, help="a snippet: Model, get_inputs, get_init_inputs")
    parser.add_argument("--device", default="cpu", help="where Model is built")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16"], help="of the weights")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="numbers of rows, separated by commas")
    gpus = {product.name: product for product in products() if product.arch.startswith("gfx") and product.compute_units}
    parser.add_argument("--gpu", default="MI300X", choices=gpus, help="the GPU that the table is for")
    parser.add_argument("--configs", type=Path, help="folder of aiter's tables (default: that of the installed aiter)")
    parser.add_argument("--untuned", type=Path, help="file to write the missing shapes to, for aiter's tuner")
    options = parser.parse_args()
    snippet: Snippet = subject.load(parser, options)
    dtype, arch, units = f"torch.{options.dtype}", gpus[options.gpu].arch, gpus[options.gpu].compute_units or 0
    try:
        rows = [int(text) for text in options.rows.split(",")]
        tables = files(options.configs or configs(), os.environ)
        table = Table([row for path in tables for row in read(path)])
    except (OSError, ValueError) as error:
        parser.error(str(error))
    found = [Shape(s.m, s.n, s.k, s.bias, dtype) for s in shapes_of(snippet.build("Model"), rows)]
    missing = [shape for shape in found if table.find(shape, units, arch) is None]
    print(report(found, table, units, arch))
    tuned_count = len(found) - len(missing)
    print(f"\n{tuned_count} of {len(found)} products are tuned for {options.gpu} ({arch}, {units} compute units).")
    if options.untuned is not None and missing:
        write_untuned(options.untuned, missing)
        tuned = options.untuned.with_name("tuned.csv")
        print(f"Tune the others on the GPU, then set {VARIABLE}={tuned}:")
        print(" ".join(tuner_command(options.untuned, tuned, dtype)))


if __name__ == "__main__":
    main()
