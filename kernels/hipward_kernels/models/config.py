"""Sizes of the model, the switches that select how it is computed, and the versions as presets of switches."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hipward_kernels.ops.rope.layout import Layout

Version = Literal["v1", "v2", "v3", "v4"]


@dataclass(frozen=True)
class Config:
    """The function of the model. Models with equal `Config` and weights compute the same, with any switches."""

    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    """Heads of keys and values; each is shared by `num_heads / num_kv_heads` heads of queries."""
    intermediate_size: int
    vocab_size: int = 1000
    rope_base: float = 10000.0
    rope_layout: Layout = "interleaved"
    norm_eps: float = 1e-6
    max_positions: int = 4096

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads or self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"{self.hidden_size} features, {self.num_heads} heads and {self.num_kv_heads} heads of keys and "
                "values: each number must be a multiple of the next"
            )
        if self.head_dim % 2:
            raise ValueError(f"a head has {self.head_dim} features; rotary embeddings rotate pairs of them")

    @property
    def head_dim(self) -> int:
        """Features of a head."""
        return self.hidden_size // self.num_heads

    @property
    def qkv_heads(self) -> tuple[int, int, int]:
        """Heads of queries, keys and values, in the order in which a fused projection has them."""
        return self.num_heads, self.num_kv_heads, self.num_kv_heads


@dataclass(frozen=True)
class Size:
    """A model with its training batch in the workshop."""

    config: Config
    batch_size: int
    sequence_length: int


SIZES: Mapping[str, Size] = {
    "tiny": Size(Config(64, 2, 4, 2, 256, vocab_size=128, max_positions=256), batch_size=2, sequence_length=32),
    "small": Size(Config(512, 8, 8, 4, 2048), batch_size=8, sequence_length=128),
    "medium": Size(Config(1024, 12, 16, 8, 4096), batch_size=16, sequence_length=512),
}
"""`small` and `medium` are those of AMD's HPCTrainingExamples, MLExamples/TinyTransformer; `tiny` suits a CPU."""


@dataclass(frozen=True)
class Switches:
    """How the model is computed. With all switches off: plain eager PyTorch."""

    fused_qkv: bool = False
    """Queries, keys and values from one matrix product instead of three."""
    flash_attention: bool = False
    """`scaled_dot_product_attention` instead of two products and a softmax: scores are not stored."""
    fused_gate_up: bool = False
    """Gate and up projection from one matrix product instead of two."""
    compile: bool = False
    """`torch.compile` of each layer."""
    rmsnorm_kernel: bool = False
    """`hipward_kernels.ops.rmsnorm` instead of the formula in PyTorch."""
    silu_mul_kernel: bool = False
    """`hipward_kernels.ops.silu_mul` instead of two operations."""
    rope_kernel: bool = False
    """`hipward_kernels.ops.rope` instead of the formula in PyTorch."""
    cross_entropy_kernel: bool = False
    """`hipward_kernels.ops.cross_entropy` instead of PyTorch's."""
    add_rmsnorm_kernel: bool = False
    """The residual addition and the norm after it as one: `hipward_kernels.ops.add_rmsnorm`."""
    qkv_rope_kernel: bool = False
    """Split, RoPE and layout of a fused projection as one: `hipward_kernels.ops.qkv_rope`. Needs `fused_qkv`."""
    swiglu_kernel: bool = False
    """`hipward_kernels.ops.swiglu` on the output of a fused projection. Needs `fused_gate_up`."""
    attention_router: bool = False
    """`hipward_kernels.attention`, which selects the fastest available attention, instead of `flash_attention`."""
    fused_adamw: bool = False
    """AdamW as one kernel for many parameters instead of a kernel for each operation."""
    static_cache: bool = False
    """Keys and values of decoding in buffers of fixed size instead of tensors that grow."""
    decode_kernels: bool = False
    """A step of decoding as five kernels a layer: `hipward_kernels.decoding`. Needs both fused projections and
    `static_cache`."""
    graphs: bool = False
    """A step is captured as a CUDA or HIP graph, if its results are equal. Decoding needs `static_cache`."""

    def __post_init__(self) -> None:
        if self.qkv_rope_kernel and not self.fused_qkv:
            raise ValueError("qkv_rope_kernel takes the result of a fused projection apart, so it needs fused_qkv")
        if self.swiglu_kernel and not self.fused_gate_up:
            raise ValueError("swiglu_kernel takes the result of a fused projection, so it needs fused_gate_up")
        if self.decode_kernels and not (self.fused_qkv and self.fused_gate_up and self.static_cache):
            raise ValueError("decode_kernels needs fused_qkv, fused_gate_up and static_cache")

    def on(self) -> tuple[str, ...]:
        """Names of the switches that are on, in the order above."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name))

    def with_(self, *, on: Iterable[str] = (), off: Iterable[str] = ()) -> Switches:
        """A copy with some switches set."""
        return replace(self, **dict.fromkeys(on, True), **dict.fromkeys(off, False))

    def __str__(self) -> str:
        return " ".join(self.on()) or "none"


SWITCHES: tuple[str, ...] = tuple(field.name for field in fields(Switches))

_V2 = ("fused_qkv", "flash_attention", "fused_gate_up", "compile")
_V3 = ("rmsnorm_kernel", "silu_mul_kernel", "rope_kernel", "cross_entropy_kernel")

VERSIONS: Mapping[Version, Switches] = {
    "v1": Switches(),
    "v2": Switches().with_(on=_V2),
    # V3 shows the effect of hand-written kernels alone, so the compiler is off.
    "v3": Switches().with_(on=(*_V2[:3], *_V3)),
    "v4": Switches().with_(on=SWITCHES),
}
"""Baseline; fused by PyTorch; fused by Triton; everything."""


def version(name: str) -> Switches:
    """The switches of a version.

    Raises:
        ValueError: There is no such version.
    """
    for known, switches in VERSIONS.items():
        if known == name:
            return switches
    raise ValueError(f"there is no version {name!r}; there are {', '.join(VERSIONS)}")
