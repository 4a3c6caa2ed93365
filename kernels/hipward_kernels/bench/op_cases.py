"""The benchmark cases of the ops: shapes of language models, rivals, and the bytes that an op must move.

This module times nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hipward_kernels.bench import rivals
from hipward_kernels.bench.rivals import EPS, HEAD_DIM, HEADS, KV_HEADS
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
    swiglu,
)
from hipward_kernels.ops.rope import rope_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

ROWS = (1, 32, 2048, 16384)
COLUMNS = (1024, 4096, 8192, 16384, 65536)
ROW_OPS = ("rmsnorm", "add_rmsnorm", "layernorm", "softmax", "silu_mul", "gelu_mul", "swiglu")
"""Ops on rows of any number and length."""
LENGTH = 2048

CLAIMED = {"rmsnorm": 3.4, "add_rmsnorm": 2.8, "gelu_mul": 1.6, "silu_mul": 1.4}
"""Speed-ups over eager that the project's source documents claim without naming device, shape or dtype."""


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


def plain_swiglu(x: Tensor) -> Tensor:
    """The baseline: SwiGLU of a fused projection as most models write it, in two kernels."""
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def plain_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The baseline: RoPE as Hugging Face's Llama writes it, with the table's rows doubled."""
    cos, sin = (torch.cat([table, table], -1).unsqueeze(-2).to(x.dtype) for table in (cos, sin))
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def plain_qkv_rope(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The baseline: split and RoPE as models write them."""
    q, k, v = rivals.split_heads(qkv)
    return plain_rope(q, cos, sin), plain_rope(k, cos, sin), v.contiguous()


def plain_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The baseline: cross-entropy as most models call it, in float32."""
    return F.cross_entropy(logits.float(), labels)


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
        x = self._random(rows, 2 * columns if self.op == "swiglu" else columns)
        rest: dict[str, list[tuple[int, ...]]] = {
            "rmsnorm": [(columns,)],
            "add_rmsnorm": [self.shape, (columns,)],
            "layernorm": [(columns,), (columns,)],
            "softmax": [],
            "silu_mul": [self.shape],
            "gelu_mul": [self.shape],
            "swiglu": [],
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
        tensors = {"add_rmsnorm": 4, "silu_mul": 3, "gelu_mul": 3, "swiglu": 3}.get(self.op, 2)
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
        return TORCH[self.op][0] if self.op in TORCH else "eager"

    def rivals(self, without: Collection[str] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The other implementations, except torch.compile, which is created when it is measured.

        Args:
            without: Rivals to leave out.

        Raises:
            MissingRivalError: A rival that is not left out is not installed.
        """
        if self.op in TORCH:
            yield TORCH[self.op]
        yield from rivals.rivals(self.op, self.device, without)

    def packages(self, without: Collection[str]) -> list[str]:
        """The rivals from other packages, each with its version or the note that it was left out."""
        return rivals.versions(self.op, self.device, without)


def _add_then_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    total = x + residual
    return F.rms_norm(total, total.shape[-1:], weight, EPS), total


TORCH: dict[str, tuple[str, Callable[..., Any]]] = {
    "rmsnorm": ("F.rms_norm", lambda x, weight: F.rms_norm(x, x.shape[-1:], weight, EPS)),
    "add_rmsnorm": ("add, F.rms_norm", _add_then_rms_norm),
    "layernorm": ("F.layer_norm", lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, EPS)),
    "softmax": ("F.softmax", lambda x: F.softmax(x, -1)),
}
"""PyTorch's own ops, where the baseline is written in several."""

EAGER: dict[str, Callable[..., Any]] = {
    "rmsnorm": plain_rmsnorm,
    "add_rmsnorm": plain_add_rmsnorm,
    "layernorm": plain_layernorm,
    "softmax": plain_softmax,
    "silu_mul": plain_silu_mul,
    "gelu_mul": plain_gelu_mul,
    "swiglu": plain_swiglu,
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
    "swiglu": swiglu,
    "rope": rope,
    "qkv_rope": lambda qkv, cos, sin: qkv_rope(qkv, cos, sin, HEADS, KV_HEADS),
    "cross_entropy": cross_entropy,
}


def cases(dtype: torch.dtype, device: torch.device) -> list[Case]:
    """All cases: each op at each shape of the grid."""
    grid = [Case(op, (rows, columns), dtype, device) for op in ROW_OPS for rows in ROWS for columns in COLUMNS]
    tokens = (1, 2048, 16384)
    grid += [Case("rope", (rows, HEADS * HEAD_DIM), dtype, device) for rows in tokens]
    grid += [Case("qkv_rope", (rows, (HEADS + 2 * KV_HEADS) * HEAD_DIM), dtype, device) for rows in tokens]
    grid += [Case("cross_entropy", shape, dtype, device) for shape in ((2048, 32000), (4096, 128256))]
    return grid
