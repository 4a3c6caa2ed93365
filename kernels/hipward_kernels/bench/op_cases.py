"""The benchmark cases of the ops: shapes of language models, rivals, and the bytes that an op must move.

This module times nothing.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hipward_kernels.ops import (
    add_rmsnorm,
    cross_entropy,
    gelu_mul,
    layernorm,
    qkv_rope,
    rmsnorm,
    rope,
    silu_mul,
    softmax,
)
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

EPS = 1e-6
ROWS = (1, 32, 2048, 16384)
COLUMNS = (1024, 4096, 8192, 16384, 65536)
ROW_OPS = ("rmsnorm", "add_rmsnorm", "layernorm", "softmax", "silu_mul", "gelu_mul")
"""Ops on rows of any number and length."""
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
LENGTH = 2048

CLAIMED = {"rmsnorm": 3.4, "add_rmsnorm": 2.8, "gelu_mul": 1.6, "silu_mul": 1.4}
"""Speed-ups over eager that the project's source documents claim without naming device, shape or dtype."""

LIGER, QUACK = "liger", "quack"
"""The names under which `--without` leaves out the rivals from other packages, Liger-Kernel and QuACK."""
UNPACKED = Path(__file__).parents[2] / ".liger"
"""The folder for an unpacked Liger-Kernel wheel, for hosts where it is neither installed nor on PYTHONPATH."""
LIGER_HELP = (
    "Liger-Kernel (`pip install --no-deps liger-kernel==0.8.5`) is one of the rivals. It is imported "
    "like any package. For a machine without network, download the wheel elsewhere (`pip download --no-deps "
    "liger-kernel==0.8.5`), unpack it into a folder with `python -m zipfile -e WHEEL FOLDER`, and put the folder on "
    "PYTHONPATH; the folder kernels/.liger needs no PYTHONPATH."
)


def plain_rmsnorm(x: Tensor, weight: Tensor) -> Tensor:
    """The baseline: RMSNorm as most models write it, in several kernels."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * weight


def plain_add_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The baseline: a residual addition and RMSNorm as most models write them."""
    total = x + residual
    return plain_rmsnorm(total, weight), total


def plain_layernorm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The baseline: LayerNorm written out, in several kernels."""
    wide = x.float()
    centred = wide - wide.mean(-1, keepdim=True)
    return (centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * weight + bias


def plain_softmax(x: Tensor) -> Tensor:
    """The baseline: softmax written out, in several kernels."""
    exponentials = torch.exp(x.float() - x.float().amax(-1, keepdim=True))
    return (exponentials / exponentials.sum(-1, keepdim=True)).to(x.dtype)


def plain_silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """The baseline: SiLU×mul as most models write it, in two kernels."""
    return F.silu(gate) * up


def plain_gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """The baseline: GELU-tanh×mul as most models write it, in two kernels."""
    return F.gelu(gate, approximate="tanh") * up


def plain_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The baseline: RoPE as Hugging Face's Llama writes it, with the table's rows doubled."""
    cos, sin = (torch.cat([table, table], -1).unsqueeze(-2).to(x.dtype) for table in (cos, sin))
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def plain_qkv_rope(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The baseline: split and RoPE as models write them."""
    heads = torch.unflatten(qkv, -1, (HEADS + 2 * KV_HEADS, HEAD_DIM))
    q, k, v = torch.split(heads, [HEADS, KV_HEADS, KV_HEADS], dim=-2)
    return plain_rope(q, cos, sin), plain_rope(k, cos, sin), v.contiguous()


def plain_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The baseline: cross-entropy as most models call it, in float32."""
    return F.cross_entropy(logits.float(), labels)


QUACK_HELP = (
    "QuACK (`pip install quack-kernels`) is a rival on NVIDIA GPUs from sm_90 on. For a machine without network, "
    "install it elsewhere into a folder with `pip install --target FOLDER`, and put the folder on PYTHONPATH."
)

WAIVE = "`--without liger` measures without it, and the rows record that."
WAIVE_QUACK = "`--without quack` measures without it, and the rows record that."


class MissingRivalError(Exception):
    """A rival cannot be imported. The message states how to install it or leave it out."""


@dataclass(frozen=True)
class Case:
    """One op at one shape."""

    op: str
    shape: tuple[int, int]
    """Rows and columns: tokens and features, or tokens and words for cross-entropy."""
    dtype: torch.dtype
    device: torch.device

    def __str__(self) -> str:
        return f"{self.op} {self.shape[0]}x{self.shape[1]}"

    def arguments(self) -> tuple[Tensor, ...]:
        """Fresh random arguments."""
        rows, columns = self.shape
        x = self._random(rows, columns)
        rest: dict[str, list[tuple[int, ...]]] = {
            "rmsnorm": [(columns,)],
            "add_rmsnorm": [self.shape, (columns,)],
            "layernorm": [(columns,), (columns,)],
            "softmax": [],
            "silu_mul": [self.shape],
            "gelu_mul": [self.shape],
        }
        if self.op in rest:
            return x, *(self._random(*shape) for shape in rest[self.op])
        if self.op == "cross_entropy":
            return x, torch.randint(0, columns, (rows,), device=self.device)
        length = min(rows, LENGTH)
        cos, sin = rope_table(length, HEAD_DIM, device=self.device)
        wanted = (rows // length, length, columns) if self.op == "qkv_rope" else (rows // length, length, -1, HEAD_DIM)
        return x.view(wanted), cos, sin

    def _random(self, *shape: int) -> Tensor:
        return torch.randn(shape, dtype=self.dtype, device=self.device)

    def bytes_moved(self) -> int:
        """Bytes if each input is read once and each output is written once."""
        rows, columns = self.shape
        elements, size = rows * columns, self.dtype.itemsize
        if self.op in ("rope", "qkv_rope"):
            return 2 * elements * size + min(rows, LENGTH) * HEAD_DIM * 4
        if self.op == "cross_entropy":
            return elements * size + rows * 8
        tensors = {"rmsnorm": 2, "add_rmsnorm": 4, "layernorm": 2, "softmax": 2, "silu_mul": 3, "gelu_mul": 3}[self.op]
        parameters = {"rmsnorm": 1, "add_rmsnorm": 1, "layernorm": 2}.get(self.op, 0)
        return (tensors * elements + parameters * columns) * size

    def eager(self) -> Callable[..., Any]:
        """The op as most models write it."""
        return EAGER[self.op]

    def ours(self) -> Callable[..., Any]:
        """The op of this package, on the tier that its dispatch selects."""
        return OURS[self.op]

    def torch_op(self) -> str:
        """The name of the variant that uses PyTorch's own op, or the smallest number of its ops."""
        own = {
            "rmsnorm": "F.rms_norm",
            "add_rmsnorm": "add, F.rms_norm",
            "layernorm": "F.layer_norm",
            "softmax": "F.softmax",
        }
        return own.get(self.op, "eager")

    def rivals(self, without: Collection[str] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The other implementations, except torch.compile, which is created when it is measured.

        Args:
            without: Rivals to leave out.

        Raises:
            MissingRivalError: A rival that is not left out is not installed.
        """
        if self.op == "rmsnorm":
            yield "F.rms_norm", lambda x, weight: F.rms_norm(x, x.shape[-1:], weight, EPS)
        if self.op == "add_rmsnorm":
            yield "add, F.rms_norm", _add_then_rms_norm
        if self.op == "layernorm":
            yield "F.layer_norm", lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, EPS)
        if self.op == "softmax":
            yield "F.softmax", lambda x: F.softmax(x, -1)
        if self._liger_has_it() and LIGER not in without:
            yield "Liger", liger_function(self.op)
        if quack_has(self.op, self.device) and QUACK not in without:
            yield "quack", quack_function(self.op)

    def packages(self, without: Collection[str]) -> list[str]:
        """The rivals from other packages, each with its version or the note that it was left out."""
        found = []
        if self._liger_has_it():
            found.append("without Liger" if LIGER in without else f"Liger {liger_version()}")
        if quack_has(self.op, self.device):
            found.append("without quack" if QUACK in without else f"quack {quack_version()}")
        return found

    def _liger_has_it(self) -> bool:
        """Whether Liger-Kernel has the op on this device: its Triton kernels do not run on a CPU."""
        return self.op in LIGER_FUNCTIONS and self.device.type == "cuda"


def _add_then_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    total = x + residual
    return F.rms_norm(total, total.shape[-1:], weight, EPS), total


EAGER: dict[str, Callable[..., Any]] = {
    "rmsnorm": plain_rmsnorm,
    "add_rmsnorm": plain_add_rmsnorm,
    "layernorm": plain_layernorm,
    "softmax": plain_softmax,
    "silu_mul": plain_silu_mul,
    "gelu_mul": plain_gelu_mul,
    "rope": plain_rope,
    "qkv_rope": plain_qkv_rope,
    "cross_entropy": plain_cross_entropy,
}

OURS: dict[str, Callable[..., Any]] = {
    "rmsnorm": lambda x, weight: rmsnorm(x, weight, EPS),
    "add_rmsnorm": lambda x, residual, weight: add_rmsnorm(x, residual, weight, EPS),
    "layernorm": lambda x, weight, bias: layernorm(x, weight, bias, EPS),
    "softmax": softmax,
    "silu_mul": silu_mul,
    "gelu_mul": gelu_mul,
    "rope": rope,
    "qkv_rope": lambda qkv, cos, sin: qkv_rope(qkv, cos, sin, HEADS, KV_HEADS),
    "cross_entropy": cross_entropy,
}


LIGER_FUNCTIONS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "rmsnorm": ("rms_norm", "LigerRMSNormFunction", (EPS, 0.0, "llama", False)),
    "add_rmsnorm": ("fused_add_rms_norm", "LigerFusedAddRMSNormFunction", (EPS, 0.0, "llama", False)),
    "layernorm": ("layer_norm", "LigerLayerNormFunction", (EPS,)),
    "softmax": ("softmax", "LigerSoftmaxFunction", ()),
    "silu_mul": ("swiglu", "LigerSiLUMulFunction", ()),
    "gelu_mul": ("geglu", "LigerGELUMulFunction", ()),
}
"""By op: module, function and further arguments. `False` forbids the backward to overwrite its inputs."""


def liger_version() -> str:
    """The version of Liger-Kernel.

    Raises:
        MissingRivalError: It is not installed.
    """
    if UNPACKED.is_dir() and str(UNPACKED) not in sys.path:
        sys.path.append(str(UNPACKED))
    try:
        return version("liger-kernel")
    except PackageNotFoundError as error:
        raise MissingRivalError(f"Liger-Kernel is not installed. {LIGER_HELP} {WAIVE}") from error


def liger_function(op: str) -> Callable[..., Any]:
    """Liger-Kernel's implementation of an op.

    Raises:
        MissingRivalError: It is not installed or cannot be imported.
    """
    found = liger_version()
    module, name, rest = LIGER_FUNCTIONS[op]
    try:
        function = getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name).apply
    except (ImportError, AttributeError) as error:
        raise MissingRivalError(f"Liger-Kernel {found} has no usable {module}.{name}: {error}. {WAIVE}") from error
    return lambda *arguments: function(*arguments, *rest)


QUACK_FUNCTIONS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "rmsnorm": ("rmsnorm", {"eps": EPS}),
    "softmax": ("softmax", {}),
}
"""By op: QuACK's function, in a module of the same name, and further arguments."""

QUACK_CAPABILITY = (9, 0)
"""The oldest NVIDIA GPUs that QuACK supports."""


def quack_has(op: str, device: torch.device) -> bool:
    """Whether QuACK has the op on this device."""
    if op not in QUACK_FUNCTIONS or device.type != "cuda" or torch.version.hip or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability(device) >= QUACK_CAPABILITY


def quack_version() -> str:
    """The version of QuACK.

    Raises:
        MissingRivalError: It is not installed.
    """
    try:
        return version("quack-kernels")
    except PackageNotFoundError as error:
        raise MissingRivalError(f"QuACK is not installed. {QUACK_HELP} {WAIVE_QUACK}") from error


def quack_function(op: str) -> Callable[..., Any]:
    """QuACK's implementation of an op.

    Raises:
        MissingRivalError: It is not installed or cannot be imported.
    """
    found = quack_version()
    name, rest = QUACK_FUNCTIONS[op]
    try:
        function = getattr(importlib.import_module(f"quack.{name}"), name)
    except (ImportError, AttributeError) as error:
        raise MissingRivalError(f"QuACK {found} has no usable {name}: {error}. {WAIVE_QUACK}") from error
    return lambda *arguments: function(*arguments, **rest)


def cases(dtype: torch.dtype, device: torch.device) -> list[Case]:
    """All cases: each op at each shape of the grid."""
    grid = [Case(op, (rows, columns), dtype, device) for op in ROW_OPS for rows in ROWS for columns in COLUMNS]
    tokens = (1, 2048, 16384)
    grid += [Case("rope", (rows, HEADS * HEAD_DIM), dtype, device) for rows in tokens]
    grid += [Case("qkv_rope", (rows, (HEADS + 2 * KV_HEADS) * HEAD_DIM), dtype, device) for rows in tokens]
    grid += [Case("cross_entropy", shape, dtype, device) for shape in ((2048, 32000), (4096, 128256))]
    return grid
