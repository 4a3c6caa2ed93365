"""The resources that each kernel's AMD machine code uses, as a table: `python -m hipward_kernels.bench.amd_report`.

Each kernel is compiled for the launch that it would get on that GPU. The requirements are: no register spilled to
memory, no vector load narrower than 16 bytes, and enough whole workgroups on a compute unit to hide memory's latency.
The table is `results/amd_code.csv`; a test compiles the kernels again and compares.

Registers, LDS and the wavefronts of a workgroup decide how many workgroups fit on a compute unit
(`compile/occupancy.py`). The floor of their wavefronts is Little's law: to keep memory busy, a compute unit must have
`bandwidth / units * latency` bytes in flight, and a wavefront requests 64 lanes x 16 bytes x vectors of each input. A
kernel that reduces a row needs a second workgroup, which loads while the first one waits at its barrier, or twice
the floor's wavefronts in one.

The columns `_before` are those of an older version of the kernels, with its launches, from the table that was made
there; empty for kernels that it did not have. They stay as they are unless `--before` names another table.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triton

from hipward_kernels import decoding
from hipward_kernels.bench.before import SUFFIX, beside, kept, older_columns
from hipward_kernels.compile.occupancy import occupancy
from hipward_kernels.compile.package_kernels import clang, compile_hip, compile_triton
from hipward_kernels.decoding import plan as decoding_plan
from hipward_kernels.gpu.arch import fp8_dtype
from hipward_kernels.gpu.facts import archs, product_named
from hipward_kernels.ops import parts as partial_gradients
from hipward_kernels.ops.cross_entropy import hip as cross_entropy_hip
from hipward_kernels.ops.cross_entropy import triton as cross_entropy_triton
from hipward_kernels.ops.gated import hip as gated_hip
from hipward_kernels.ops.gated import triton as gated_triton
from hipward_kernels.ops.hip_launch import VECTOR_BYTES
from hipward_kernels.ops.launch import row_block, row_limit, warps
from hipward_kernels.ops.layernorm import hip as layernorm_hip
from hipward_kernels.ops.layernorm import triton as layernorm_triton
from hipward_kernels.ops.qkv_rope import triton as qkv_rope_triton
from hipward_kernels.ops.rmsnorm import hip as rmsnorm_hip
from hipward_kernels.ops.rmsnorm import triton as rmsnorm_triton
from hipward_kernels.ops.rope import hip as rope_hip
from hipward_kernels.ops.rope import triton as rope_triton
from hipward_kernels.ops.softmax import hip as softmax_hip
from hipward_kernels.ops.softmax import triton as softmax_triton
from hipward_kernels.ops.swiglu import triton as swiglu_triton
from hipward_kernels.quantization import triton as quantization_triton

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _typeshed import DataclassInstance

    from hipward_kernels.bench.before import Numbers
    from hipward_kernels.compile.listing import Resources

OPS = Path(__file__).parents[1] / "ops"
REPORT = Path(__file__).parents[2] / "results" / "amd_code.csv"

WAVEFRONT = 64

ROWS = 16384
"""Rows of the row-wise kernels: enough for the plans of a full GPU."""
"""Lanes of a wavefront on every architecture of the report."""

LATENCY_S = 1e-6
"""Memory latency under load, rounded up; public microbenchmarks of MI300X measure 0.7 to 0.8 microseconds."""


PRODUCTS = {"gfx90a": "MI210", "gfx942": "MI300X", "gfx950": "MI355X"}
"""The architectures of the report, each with the product whose memory its occupancy floor is for."""


@dataclass(frozen=True)
class Kernel:
    """A kernel with a launch, and the requirements that it must meet."""

    op: str
    tier: str
    name: str
    dtype: str
    shape: str
    threads: int
    """Threads of a workgroup."""
    bytes_of_thread: float
    """Bytes that a thread has in flight."""
    source: Any
    """A HIP file, or a function under `triton.jit`."""
    constants: Mapping[str, Any]
    narrow: int = 0
    """Loads of single numbers that the algorithm needs, such as a row's label."""

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures that the kernel supports: 8-bit formats start with gfx942."""
        return tuple(arch for arch in PRODUCTS if self.op != "quantize" or fp8_dtype(arch) is not None)

    @property
    def stores_numbers(self) -> bool:
        """Whether the result is one number per row, or 8 bits per element."""
        return (
            self.op == "decoding"
            or self.name in ("row_sums_kernel", "quantize_kernel", "add_parts", "sum")
            or (self.op == "cross_entropy" and self.name.startswith("forward"))
        )

    @property
    def reads_numbers(self) -> bool:
        """Whether one block reads two numbers per row, which is too little for wider loads to matter."""
        return self.op == "cross_entropy" and self.name == "sum"

    def compile(self, arch: str) -> Resources:
        """Compiles the kernel and returns the resources that its code uses."""
        if self.tier == "hip":
            return compile_hip(arch, self.source, self.name, self.constants)
        signature = {
            name: _triton_type(name, self.dtype, self.op, arch)
            for name in self.source.arg_names
            if name not in self.constants
        }
        return compile_triton(arch, self.source, signature, self.constants, self.threads // WAVEFRONT)

    def waves_floor(self, arch: str) -> int:
        """Wavefronts that a compute unit must hold at the same time."""
        limits, product = archs()[arch].limits, product_named(PRODUCTS[arch])
        if limits is None or product is None or product.bytes_per_second is None or product.compute_units is None:
            raise ValueError(f"gpus.toml lacks the bandwidth or the limits of {arch}")
        wanted = product.bytes_per_second / product.compute_units * LATENCY_S
        waves = math.ceil(wanted / (WAVEFRONT * self.bytes_of_thread))
        return min(max(waves, 1), limits.simds * limits.waves_per_simd)


def _triton_type(name: str, dtype: str, op: str, arch: str) -> str:
    if op == "quantize" and name == "y_ptr":
        return "*fp8e4b8" if arch == "gfx942" else "*fp8e4nv"
    if name == "labels_ptr":
        return "*i64"
    if name in (
        "r_ptr",
        "dot_ptr",
        "dweight_ptr",
        "losses_ptr",
        "dlosses_ptr",
        "normalizers_ptr",
        "scales_ptr",
        "means_ptr",
        "level_ptr",
        "along_ptr",
        "dbias_ptr",
        "cos_ptr",
        "sin_ptr",
    ):
        return "*fp32"
    if name.endswith("_ptr"):
        return f"*{dtype}"
    return "fp32" if name in ("eps", "largest", "smallest") else "i32"


ITEMSIZE = {"bf16": 2, "fp16": 2, "fp32": 4}
HIP_NAMES = {"bf16": "bf16", "fp16": "f16", "fp32": "f32"}
REDUCING = ("rmsnorm", "add_rmsnorm", "layernorm", "softmax")
BY_COLUMNS = ("backward_blocked_kernel", "add_parts")
"""The ops whose threads wait for one another to reduce a row, and their kernels that do not."""

ALONE = 2
"""How many times the floor a single workgroup on a compute unit must have in wavefronts, if its threads wait for one
another: with so many, part of them still loads."""


def kernels() -> Iterator[Kernel]:
    """Yields every kernel at the shapes that matter for speed.

    Not those that end a decoding step, which read a few kilobytes: `choose`, and the merge of attention's parts.
    """
    for dtype in ITEMSIZE:
        yield from _norms(dtype)
        yield from _layernorm(dtype)
        yield from _softmax(dtype)
        yield from _gated(dtype)
        yield from _rope(dtype)
        yield from _cross_entropy(dtype)
        yield from _decoding(dtype)
        block = quantization_triton.column_block(4096)
        kernel = quantization_triton.quantize_kernel
        yield _triton("quantize", kernel, dtype, "K=4096", block, warps(block, WAVEFRONT), 1, {})


def _norms(dtype: str) -> Iterator[Kernel]:
    for op, add in (("rmsnorm", 0), ("add_rmsnorm", 1)):
        for columns in (1024, 4096, 8192, 16384, 32768, 65536):
            yield from _hip_norm(op, dtype, columns)
            block, num_warps = rmsnorm_triton.default_plan(columns, WAVEFRONT)
            whole = block >= columns
            kernel = rmsnorm_triton.forward_kernel if whole else rmsnorm_triton.forward_blocked_kernel
            constants = {"ADD": add, "HAS_WEIGHT": True, **({} if whole else {"COLUMNS": columns})}
            yield _triton(op, kernel, dtype, f"N={columns}", block, num_warps, 1 + add, constants)
        for columns in (4096, 16384):
            block = row_block(columns, rmsnorm_triton.BACKWARD_ROW_LIMIT)
            constants = {"ADD": add, "HAS_WEIGHT": True}
            num_warps = warps(block, WAVEFRONT)
            yield _triton(op, rmsnorm_triton.backward_kernel, dtype, f"N={columns}", block, num_warps, 2, constants)
    macros = {"W": HIP_NAMES[dtype], **partial_gradients.macros()}
    file, threads = OPS / "parts.hip", partial_gradients.PARTS_THREADS
    yield Kernel("rmsnorm", "hip", "add_parts", dtype, "any", threads, 64, file, macros)
    block = row_block(65536, rmsnorm_triton.BACKWARD_ROW_LIMIT)
    num_warps = warps(block, WAVEFRONT)
    sums, blocked = rmsnorm_triton.row_sums_kernel, rmsnorm_triton.backward_blocked_kernel
    yield _triton("rmsnorm", sums, dtype, "N=65536", block, num_warps, 2, {"HAS_WEIGHT": True})
    yield _triton("rmsnorm", blocked, dtype, "N=65536", block, num_warps, 2, {"ADD": 0, "HAS_WEIGHT": True}, narrow=2)


def _hip_norm(op: str, dtype: str, columns: int) -> Iterator[Kernel]:
    """Both directions, if a row fits into the registers of a block."""
    size, name, inputs = ITEMSIZE[dtype], HIP_NAMES[dtype], 2 if op == "add_rmsnorm" else 1
    shape, names = f"N={columns}", dict[str, Any](T=name, W=name, HAS_WEIGHT=1)
    if (found := rmsnorm_hip.forward_plan("gfx942", ROWS, columns, size, inputs, {})) is not None:
        plan, macros = found
        file, on_their_way = OPS / "rmsnorm/hip.hip", 16 * plan.vectors * inputs
        yield Kernel(op, "hip", "forward", dtype, shape, plan.threads, on_their_way, file, {**names, **macros})
    if (back := rmsnorm_hip.backward_plan(op, "gfx942", columns, size)) is not None:
        file, on_their_way = OPS / "rmsnorm/backward.hip", 16 * back.vectors * (1 + inputs)
        macros = {**names, **back.macros(), "ADD": inputs - 1}
        yield Kernel(op, "hip", "backward", dtype, shape, back.threads, on_their_way, file, macros)


def _layernorm(dtype: str) -> Iterator[Kernel]:
    size, name = ITEMSIZE[dtype], HIP_NAMES[dtype]
    names = dict[str, Any](T=name, W=name, HAS_WEIGHT=1, HAS_BIAS=1)
    kinds = {"HAS_WEIGHT": True, "HAS_BIAS": True}
    for columns in (1024, 4096, 8192, 16384, 32768, 65536):
        shape = f"N={columns}"
        if (found := layernorm_hip.forward_plan("gfx942", ROWS, columns, size)) is not None:
            plan, macros = found
            file, macros = OPS / "layernorm/hip.hip", {**names, **macros, "SAVE": 1}
            yield Kernel("layernorm", "hip", "forward", dtype, shape, plan.threads, 16 * plan.vectors, file, macros)
        if (back := layernorm_hip.backward_plan("gfx942", columns, size)) is not None:
            file, macros = OPS / "layernorm/backward.hip", {**names, **back.macros()}
            on_their_way = 32 * back.vectors
            yield Kernel(
                "layernorm", "hip", "backward", dtype, shape, back.threads, on_their_way, file, macros, narrow=2
            )
        block = row_block(columns, row_limit(WAVEFRONT))
        kernel = layernorm_triton.forward_kernel if block >= columns else layernorm_triton.forward_blocked_kernel
        yield _triton("layernorm", kernel, dtype, shape, block, warps(block, WAVEFRONT), 1, {**kinds, "SAVE": True})
    for columns in (4096, 16384):
        block = row_block(columns, layernorm_triton.BACKWARD_ROW_LIMIT)
        kernel = layernorm_triton.backward_kernel
        yield _triton("layernorm", kernel, dtype, f"N={columns}", block, warps(block, WAVEFRONT), 2, kinds, narrow=2)
    block = row_block(65536, layernorm_triton.BACKWARD_ROW_LIMIT)
    num_warps = warps(block, WAVEFRONT)
    sums, blocked = layernorm_triton.row_sums_kernel, layernorm_triton.backward_blocked_kernel
    yield _triton("layernorm", sums, dtype, "N=65536", block, num_warps, 2, {"HAS_WEIGHT": True}, narrow=2)
    yield _triton("layernorm", blocked, dtype, "N=65536", block, num_warps, 2, kinds, narrow=4)


def _softmax(dtype: str) -> Iterator[Kernel]:
    size, name = ITEMSIZE[dtype], HIP_NAMES[dtype]
    for columns in (1024, 4096, 16384, 32768, 65536):
        shape = f"N={columns}"
        for direction, inputs in (("forward", 1), ("backward", 2)):
            plan = softmax_hip.row_plan("gfx942", ROWS, columns, size, inputs)
            if plan is not None:
                file, macros = OPS / "softmax/hip.hip", {"T": name, **plan.macros()}
                in_flight = 16 * plan.vectors * inputs
                yield Kernel("softmax", "hip", direction, dtype, shape, plan.threads, in_flight, file, macros)
            block = row_block(columns, row_limit(WAVEFRONT))
            part = "kernel" if block >= columns else "blocked_kernel"
            kernel = getattr(softmax_triton, f"{direction}_{part}")
            yield _triton("softmax", kernel, dtype, shape, block, warps(block, WAVEFRONT), inputs, {})


def _gated(dtype: str) -> Iterator[Kernel]:
    name = HIP_NAMES[dtype]
    vectors = gated_hip.AMD_VECTORS
    # The halves of a row are apart from each other.
    apart = {"T": name, **gated_hip.macros({}, flat=False, size=VECTOR_BYTES, vectors=vectors)}
    file, threads = OPS / "silu_mul/hip.hip", gated_hip.THREADS
    yield Kernel("swiglu", "hip", "forward", dtype, "any", threads, 32 * vectors, file, apart)
    yield Kernel("swiglu", "hip", "backward", dtype, "any", threads, 48 * vectors, file, {**apart, "JOINED": 1})
    block = gated_triton.column_block(4096)
    kernel = swiglu_triton.swiglu_backward_kernel
    yield _triton("swiglu", kernel, dtype, "N=4096", block, warps(block, WAVEFRONT), 3, {})
    for op, gelu in (("silu_mul", False), ("gelu_mul", True)):
        for direction, inputs in (("forward", 2), ("backward", 3)):
            macros = {"T": name, **gated_hip.macros({}, flat=True, size=VECTOR_BYTES, vectors=vectors)}
            on_their_way = 16 * vectors * inputs
            file = OPS / op / "hip.hip"
            yield Kernel(op, "hip", direction, dtype, "any", gated_hip.THREADS, on_their_way, file, macros)
            kernel = gated_triton.forward_kernel if direction == "forward" else gated_triton.backward_kernel
            for columns in (1024, 4096):
                block = gated_triton.column_block(columns)
                yield _triton(op, kernel, dtype, f"N={columns}", block, warps(block, WAVEFRONT), inputs, {"GELU": gelu})


def _rope(dtype: str) -> Iterator[Kernel]:
    name = HIP_NAMES[dtype]
    for half in (True, False):
        layout = "half" if half else "interleaved"
        for (op, entry), inverse in itertools.product((("rope", "rotate"), ("qkv_rope", "split")), (False, True)):
            heads = {"HEADS": 32} if op == "rope" else {"HEADS": 48, "KV_HEADS": 8}
            macros = {"T": name, "C": "f32", "HALF": int(half), "INVERSE": int(inverse), "THREADS": rope_hip.THREADS}
            macros |= {**heads, "HEAD_DIM": 128, "PAIRS": 64, "BATCHED": 1, "BYTES": 16, "WHOLE": 0}
            shape = f"{layout}, D=128{', inverse' if inverse else ''}"
            yield Kernel(op, "hip", entry, dtype, shape, rope_hip.THREADS, 32, OPS / op / "hip.hip", macros)
            constants: dict[str, Any] = {
                "INVERSE": inverse,
                "HALF": half,
                **rope_triton.tile(32 if op == "rope" else 8, 128, 64),
            }
            if op == "qkv_rope":
                constants["WIDTH"] = 128
            kernel = rope_triton.rope_kernel if op == "rope" else qkv_rope_triton.qkv_rope_kernel
            threads = rope_triton.tile_warps(constants, WAVEFRONT) * WAVEFRONT
            on_their_way = constants["HEADS"] * 128 * ITEMSIZE[dtype] / threads
            # A position has few angles: one number per lane.
            yield Kernel(
                op, "triton", kernel.__name__, dtype, shape, threads, on_their_way, kernel, constants, narrow=2
            )


def _cross_entropy(dtype: str) -> Iterator[Kernel]:
    file, name = OPS / "cross_entropy/hip.hip", HIP_NAMES[dtype]
    of_row, of_vectors = cross_entropy_hip.THREADS, cross_entropy_hip.BACKWARD_THREADS
    for entry, threads, narrow in (("forward", of_row, 3), ("sum", of_row, 10), ("backward", of_vectors, 3)):
        macros = {"T": name, "THREADS": threads}
        yield Kernel("cross_entropy", "hip", entry, dtype, "V=32000", threads, 16, file, macros, narrow=narrow)
    block = cross_entropy_triton.column_block(32000)
    for kernel in (cross_entropy_triton.forward_kernel, cross_entropy_triton.backward_kernel):
        yield _triton("cross_entropy", kernel, dtype, "V=32000", block, warps(block, WAVEFRONT), 1, {}, narrow=4)


def _decoding(dtype: str) -> Iterator[Kernel]:
    """The kernels of a layer with 2048 features, 16 heads of 128 and 4 of keys; they read most of a step."""
    folder, size, name = Path(decoding.__file__).parent, ITEMSIZE[dtype], HIP_NAMES[dtype]
    columns, heads, kv_heads, features = 2048, 16, 4, 128
    lanes = decoding_plan.lanes(columns, size, WAVEFRONT)
    in_flight = columns * size / lanes
    layer = {"T": name, "HEADS": heads, "KV_HEADS": kv_heads, "HEAD_DIM": features}
    for batch, (shape, then, norm) in itertools.product((1, 8), (("linear", 0, 0), ("SwiGLU", 1, 1), ("QKV", 2, 1))):
        if norm and not decoding_plan.fits(batch, columns, size):
            continue
        tiles = decoding_plan.tiles(8192 * lanes, batch) if shape == "SwiGLU" else 1
        macros = {**layer, "W": name, "C": "f32", "COLUMNS": columns, "BATCH": batch, "LANES": lanes, "TILES": tiles}
        macros |= {"NORM": norm, "ADD": norm, "THEN": then, "HALF": 1}
        rows = tiles * (1 if then == 0 else 2)
        yield Kernel(
            "decoding", "hip", "product", dtype, f"{shape}, K={columns}, batch {batch}",
            decoding_plan.THREADS, rows * in_flight, folder / "product.hip", macros,
            narrow=3 if shape == "QKV" else 0,
        )  # fmt: skip
    threads = decoding_plan.attention_threads(features, 1, WAVEFRONT)
    attention = {**layer, "SHARED": 1, "THREADS": threads, "SPLIT": 1}
    shape, file = f"D={features}", folder / "attention.hip"
    yield Kernel("decoding", "hip", "attend", dtype, shape, threads, 32, file, attention)


def _triton(
    op: str,
    kernel: Any,
    dtype: str,
    shape: str,
    block: int,
    num_warps: int,
    inputs: int,
    constants: Mapping[str, Any],
    narrow: int = 0,
) -> Kernel:
    threads = num_warps * WAVEFRONT
    on_their_way = inputs * block * ITEMSIZE[dtype] / threads
    every = {**constants, "BLOCK": block}
    return Kernel(op, "triton", kernel.__name__, dtype, shape, threads, on_their_way, kernel, every, narrow)


@dataclass(frozen=True)
class Row:
    """A row of the report."""

    op: str
    tier: str
    kernel: str
    dtype: str
    shape: str
    arch: str
    compiler: str
    threads: int
    vgprs: int
    lds_bytes: int
    spills: int
    waves_per_simd: int
    """Wavefronts whose registers fit on a SIMD."""
    workgroups: int
    """Whole workgroups on a compute unit."""
    limited_by: str
    """What limits them: hardware, registers, lds or workgroups."""
    waves: int
    """Wavefronts of these workgroups."""
    waves_floor: int
    """Wavefronts that memory's latency needs."""
    loads_16: int
    loads_narrower: int
    stores_16: int
    vgprs_before: int | None = None
    waves_per_simd_before: int | None = None
    loads_16_before: int | None = None
    loads_narrower_before: int | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the kernel in another version of the table."""
        return self.op, self.tier, self.kernel, self.dtype, self.shape, self.arch

    @property
    def fills(self) -> bool:
        """Whether the workgroups on a compute unit hide memory's latency, as far as their kernel needs it."""
        alone = self.workgroups < 2 and self.waves < ALONE * self.waves_floor
        return self.waves >= self.waves_floor and not (self.op in REDUCING and self.kernel not in BY_COLUMNS and alone)

    @property
    def name(self) -> str:
        """The name of the kernel in messages."""
        return f"{self.op} {self.tier} {self.kernel} {self.dtype} {self.shape} on {self.arch}"


def row(kernel: Kernel, arch: str) -> Row:
    """Compiles a kernel for an architecture and returns its row."""
    code = kernel.compile(arch)
    waves = kernel.threads // WAVEFRONT
    fits = occupancy(arch, code.waves_per_simd, code.lds_bytes, waves)
    return Row(
        op=kernel.op,
        tier=kernel.tier,
        kernel=kernel.name,
        dtype=kernel.dtype,
        shape=kernel.shape,
        arch=arch,
        compiler=compiler(kernel.tier),
        threads=kernel.threads,
        vgprs=code.vgprs,
        lds_bytes=code.lds_bytes,
        spills=code.spills,
        waves_per_simd=code.waves_per_simd,
        workgroups=fits.waves_per_cu // waves,
        limited_by=fits.limited_by,
        waves=fits.waves_per_cu,
        waves_floor=kernel.waves_floor(arch),
        loads_16=code.wide("global load"),
        loads_narrower=code.narrow("global load"),
        stores_16=code.wide("global store"),
    )


def older(path: Path) -> Numbers:
    """The numbers of an older table, which may have called `waves_per_simd` occupancy."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            tuple(line[name] for name in ("op", "tier", "kernel", "dtype", "shape", "arch")): {
                name: int(line.get(name.removesuffix(SUFFIX)) or line["occupancy"]) for name in older_columns(Row)
            }
            for line in csv.DictReader(file)
        }


def compiler(tier: str) -> str:
    """The name and version of the compiler of a tier's kernels."""
    return f"triton {triton.__version__}" if tier == "triton" else f"clang {clang('gfx950').version}"


def write(rows: Sequence[DataclassInstance], path: Path) -> None:
    """Writes a table; the columns are the fields of its rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(rows[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read(path: Path) -> list[Row]:
    """Reads the report."""
    texts = {field.name for field in fields(Row) if field.type == "str"}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(**{name: text if name in texts else int(text) if text else None for name, text in line.items()})  # type: ignore[arg-type]
            for line in csv.DictReader(file)
        ]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.bench.amd_report", description=__doc__)
    parser.add_argument("--out", type=Path, default=REPORT, help="CSV file to write (default: %(default)s)")
    parser.add_argument(
        "--op", action="append", choices=sorted({kernel.op for kernel in kernels()}), help="only this op"
    )
    parser.add_argument("--arch", action="append", choices=list(PRODUCTS), help="only this architecture")
    parser.add_argument("--before", type=Path, help="table of an older version, for the columns `_before`")
    options = parser.parse_args()
    if (options.op or options.arch) and options.out == REPORT:
        parser.error("a part of the report would replace all of it; choose another file with --out")
    chosen = [
        (kernel, arch)
        for kernel in kernels()
        for arch in kernel.archs
        if kernel.op in (options.op or [kernel.op]) and arch in (options.arch or [arch])
    ]
    made = [row(kernel, arch) for kernel, arch in chosen]
    if options.before or options.out.exists():
        made = beside(made, older(options.before) if options.before else kept(read(options.out)))
    write(made, options.out)
    for line in made:
        bad = line.spills or not line.fills or not line.loads_16
        print(f"{'!' if bad else ' '} {line.name}: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
