"""The rivals from other packages, Liger-Kernel and QuACK: which ops each has, its function, and its version.

Read in liger-kernel 0.8.5 and quack-kernels 0.6.5. Not listed, because the function takes other arguments: Liger's RoPE
for one tensor (it rotates queries and keys together), and QuACK's LayerNorm (float32 weights, no gradient).
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from torch import Tensor

EPS = 1e-6
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
"""Heads of the benchmark's queries, keys and values."""

IN_PLACE = False
"""Forbids Liger's backward to overwrite the inputs of a norm."""

UNPACKED = Path(__file__).parents[2] / ".liger"
"""The folder for an unpacked Liger-Kernel wheel, for hosts where it is neither installed nor on PYTHONPATH."""
LIGER_HELP = (
    "Liger-Kernel (`pip install --no-deps liger-kernel==0.8.5`) is one of the rivals. It is imported "
    "like any package. For a machine without network, download the wheel elsewhere (`pip download --no-deps "
    "liger-kernel==0.8.5`), unpack it into a folder with `python -m zipfile -e WHEEL FOLDER`, and put the folder on "
    "PYTHONPATH; the folder kernels/.liger needs no PYTHONPATH."
)
QUACK_HELP = (
    "QuACK (`pip install quack-kernels`) is a rival on NVIDIA GPUs from sm_90 on. For a machine without network, "
    "install it elsewhere into a folder with `pip install --target FOLDER`, and put the folder on PYTHONPATH."
)


class MissingRivalError(Exception):
    """A rival cannot be imported. The message states how to install it or leave it out."""


def _with(*rest: Any, **named: Any) -> Any:
    """Passes further arguments after the op's."""
    return lambda function: lambda *arguments: function(*arguments, *rest, **named)


def _loss_of_liger(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Its function also returns three values that are None here."""
    return lambda logits, labels: apply(logits, labels, None)[0]


def split_heads(qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of `[batch, positions, columns]`, as views."""
    heads = torch.unflatten(qkv, -1, (HEADS + 2 * KV_HEADS, HEAD_DIM))
    q, k, v = torch.split(heads, [HEADS, KV_HEADS, KV_HEADS], dim=-2)
    return q, k, v


def _qkv_of_liger(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Its heads come before the positions, and the last argument says that the table is not doubled."""

    def call(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = split_heads(qkv)
        q, k = apply(q.transpose(1, 2), k.transpose(1, 2), cos, sin, None, 1, HEAD_DIM)
        return q.transpose(1, 2), k.transpose(1, 2), v.contiguous()

    return call


def _qkv_of_quack(rotate: Callable[..., Any]) -> Callable[..., Any]:
    def call(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = split_heads(qkv)
        return rotate(q, cos, sin), rotate(k, cos, sin), v.contiguous()

    return call


def _residual_of_quack(rmsnorm: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, residual, weight: rmsnorm(x, weight, residual=residual, eps=EPS, prenorm=True)


@dataclass(frozen=True)
class Package:
    """A package with rivals."""

    name: str
    """Of the variant."""
    title: str
    option: str
    """The name under which `--without` leaves it out."""
    distribution: str
    module: str
    """Prefix of its functions' modules."""
    help: str
    functions: Mapping[str, tuple[str, str, Any]]
    """By op: module, function (`LigerRMSNormFunction.apply`), and what makes it take the op's arguments."""
    capability: tuple[int, int] | None = None
    """The oldest NVIDIA GPUs that it supports, if it supports no others; None: every GPU."""

    def has(self, op: str, device: torch.device) -> bool:
        """Whether it has the op on this device. The kernels of both run on no CPU."""
        if op not in self.functions or device.type != "cuda":
            return False
        if self.capability is None:
            return True
        if torch.version.hip or not torch.cuda.is_available():
            return False
        return torch.cuda.get_device_capability(device) >= self.capability

    def version(self) -> str:
        """Its version.

        Raises:
            MissingRivalError: It is not installed.
        """
        if self is LIGER and UNPACKED.is_dir() and str(UNPACKED) not in sys.path:
            sys.path.append(str(UNPACKED))
        try:
            return version(self.distribution)
        except PackageNotFoundError as error:
            raise MissingRivalError(f"{self.title} is not installed. {self.help} {self._waive()}") from error

    def function(self, op: str) -> Callable[..., Any]:
        """Its implementation of an op.

        Raises:
            MissingRivalError: It is not installed or cannot be imported.
        """
        found = self.version()
        module, name, adapt = self.functions[op]
        try:
            function: Any = importlib.import_module(f"{self.module}.{module}")
            for part in name.split("."):
                function = getattr(function, part)
        except (ImportError, AttributeError) as error:
            problem = f"{self.title} {found} has no usable {module}.{name}: {error}."
            raise MissingRivalError(f"{problem} {self._waive()}") from error
        adapted: Callable[..., Any] = adapt(function)
        return adapted

    def _waive(self) -> str:
        return f"`--without {self.option}` measures without it, and the rows record that."


LIGER = Package(
    name="Liger",
    title="Liger-Kernel",
    option="liger",
    distribution="liger-kernel",
    module="liger_kernel.ops",
    help=LIGER_HELP,
    functions={
        "rmsnorm": ("rms_norm", "LigerRMSNormFunction.apply", _with(EPS, 0.0, "llama", IN_PLACE)),
        "add_rmsnorm": (
            "fused_add_rms_norm",
            "LigerFusedAddRMSNormFunction.apply",
            _with(EPS, 0.0, "llama", IN_PLACE),
        ),
        "layernorm": ("layer_norm", "LigerLayerNormFunction.apply", _with(EPS)),
        "softmax": ("softmax", "LigerSoftmaxFunction.apply", _with()),
        "silu_mul": ("swiglu", "LigerSiLUMulFunction.apply", _with()),
        "gelu_mul": ("geglu", "LigerGELUMulFunction.apply", _with()),
        "swiglu": ("swiglu", "LigerFusedGateUpSiLUMulFunction.apply", _with()),
        "cross_entropy": ("cross_entropy", "LigerCrossEntropyFunction.apply", _loss_of_liger),
        "qkv_rope": ("rope", "LigerRopeFunction.apply", _qkv_of_liger),
    },
)

QUACK = Package(
    name="quack",
    title="QuACK",
    option="quack",
    distribution="quack-kernels",
    module="quack",
    help=QUACK_HELP,
    functions={
        "rmsnorm": ("rmsnorm", "rmsnorm", _with(eps=EPS)),
        "add_rmsnorm": ("rmsnorm", "rmsnorm", _residual_of_quack),
        "softmax": ("softmax", "softmax", _with()),
        "cross_entropy": ("cross_entropy", "cross_entropy", _with()),
        "rope": ("rotary", "apply_rotary_emb", _with()),
        "qkv_rope": ("rotary", "apply_rotary_emb", _qkv_of_quack),
    },
    capability=(9, 0),
)

PACKAGES = (LIGER, QUACK)
OPTIONS = [package.option for package in PACKAGES]
"""What `--without` accepts."""


def rivals(op: str, device: torch.device, without: Collection[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The packages' implementations of an op, except those left out.

    Raises:
        MissingRivalError: One that is not left out is not installed.
    """
    for package in PACKAGES:
        if package.has(op, device) and package.option not in without:
            yield package.name, package.function(op)


def versions(op: str, device: torch.device, without: Collection[str]) -> list[str]:
    """The packages that have the op, each with its version or the note that it was left out."""
    return [
        f"without {package.name}" if package.option in without else f"{package.name} {package.version()}"
        for package in PACKAGES
        if package.has(op, device)
    ]
