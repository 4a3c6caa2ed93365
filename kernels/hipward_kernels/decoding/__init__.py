"""One step of decoding of a Llama-like layer in five kernels, for a few sequences.

A step reads every weight once for a few tokens, so its limit is memory; and it is short, so what happens between two
kernels counts. `decode_norm_qkv`, `decode_attention`, `decode_linear`, `decode_norm_swiglu` and `decode_linear` are the
layer; `decode_norm_linear` is the head, and `decode_choose` the choice of the tokens. The position is a tensor on the
device, so that a graph can contain a step.

The kernels are for inference. If a gradient is required, the definitions in PyTorch run instead; likewise for more than
`MOST_SEQUENCES` sequences, and for sizes that vectors do not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hipward_kernels.decoding.plan import MOST_SEQUENCES
from hipward_kernels.dispatch.registry import Op
from hipward_kernels.ops.checks import alike, floating, norm_weight

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

__all__ = [
    "MOST_SEQUENCES",
    "decode_attention",
    "decode_choose",
    "decode_linear",
    "decode_norm_linear",
    "decode_norm_qkv",
    "decode_norm_swiglu",
]

_TIERS = ("hip", "eager")
LINEAR = Op(__name__, "decode_linear", _TIERS)
NORM_LINEAR = Op(__name__, "decode_norm_linear", _TIERS)
NORM_SWIGLU = Op(__name__, "decode_norm_swiglu", _TIERS)
NORM_QKV = Op(__name__, "decode_norm_qkv", _TIERS)
ATTENTION = Op(__name__, "decode_attention", _TIERS)
CHOOSE = Op(__name__, "decode_choose", _TIERS)


def decode_linear(x: Tensor, weight: Tensor) -> Tensor:
    """`x @ weight.T`.

    Args:
        x: The new tokens, shape `[B, 1, K]`; float16, bfloat16, float32 or float64.
        weight: Shape `[N, K]`, the dtype of `x`.

    Returns:
        Shape `[B, 1, N]`.
    """
    _check("decode_linear", x, weight)
    y: Tensor = LINEAR(x, weight)
    return y


def decode_norm_linear(
    x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """A residual addition, RMSNorm (see `hipward_kernels.ops.add_rmsnorm`), and a matrix product.

    Args:
        x: The new tokens, shape `[B, 1, K]`; float16, bfloat16, float32 or float64.
        residual: Added to `x`, of the same shape and dtype; None adds nothing.
        norm: Weight of the norm, shape `[K]`, any floating dtype.
        eps: Added to the mean square, in the square of `x`'s unit.
        weight: Shape `[N, K]`, the dtype of `x`.

    Returns:
        The product, `[B, 1, N]`, and the sum `x + residual`.
    """
    _check_norm("decode_norm_linear", x, residual, norm, weight)
    return NORM_LINEAR(x, residual, norm, float(eps), weight)  # type: ignore[no-any-return]


def decode_norm_swiglu(
    x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """`decode_norm_linear`, and SwiGLU's activation of the product (see `hipward_kernels.ops.swiglu`).

    Args:
        x: As for `decode_norm_linear`.
        residual: The same.
        norm: The same.
        eps: The same.
        weight: Shape `[2 * N, K]`: the rows of the gate, then those of the up projection.

    Returns:
        The activation, `[B, 1, N]`, and the sum `x + residual`.
    """
    _check_norm("decode_norm_swiglu", x, residual, norm, weight)
    if weight.shape[0] % 2:
        raise ValueError(f"decode_norm_swiglu: weight has {weight.shape[0]} rows; an even number is needed")
    return NORM_SWIGLU(x, residual, norm, float(eps), weight)  # type: ignore[no-any-return]


def decode_norm_qkv(
    x: Tensor,
    residual: Tensor | None,
    norm: Tensor,
    eps: float,
    weight: Tensor,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    position: Tensor,
    layout: Layout = "half",
) -> tuple[Tensor, Tensor]:
    """`decode_norm_linear`, RoPE (see `hipward_kernels.ops.qkv_rope`), and the stores into the caches.

    Args:
        x: As for `decode_norm_linear`.
        residual: The same.
        norm: The same.
        eps: The same.
        weight: Shape `[(H + 2 * Hkv) * D, K]`: the rows of the queries, of the keys, then of the values.
        cos: Cosines of all positions, shape `[P, D / 2]`, `P >= T`; see `hipward_kernels.ops.rope`.
        sin: Sines, like `cos`.
        keys: Cache of shape `[B, T, Hkv, D]`, contiguous, the dtype of `x`; the new keys are stored at `position`.
        values: The same for values.
        position: Position of the new tokens, shape `[1]`, int64, less than `T`.
        layout: `half` or `interleaved`.

    Returns:
        The queries, `[B, 1, H, D]`, and the sum `x + residual`.
    """
    op = "decode_norm_qkv"
    _check_norm(op, x, residual, norm, weight)
    _check_caches(op, x, keys, values, position)
    kv_heads, features = keys.shape[2:]
    rest = weight.shape[0] - 2 * kv_heads * features
    if rest <= 0 or rest % (kv_heads * features):
        raise ValueError(
            f"{op}: weight has {weight.shape[0]} rows; with {kv_heads} heads of {features} features, the rows of the "
            "queries must be a multiple of those of the keys"
        )
    alike(op, "cos", cos, "sin", sin)
    if cos.dim() != 2 or cos.shape[0] < keys.shape[1] or 2 * cos.shape[1] != features:
        raise ValueError(f"{op}: cos is {list(cos.shape)}; [{keys.shape[1]} or more, {features // 2}] is needed")
    if layout not in ("half", "interleaved"):
        raise ValueError(f"{op}: layout is {layout!r}; 'half' or 'interleaved' is needed")
    return NORM_QKV(x, residual, norm, float(eps), weight, cos, sin, keys, values, position, layout)  # type: ignore[no-any-return]


def decode_attention(query: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> Tensor:
    """Attention of one query a sequence with all positions up to its own; see `hipward_kernels.attention`.

    Args:
        query: Shape `[B, 1, H, D]`; float16, bfloat16, float32 or float64.
        keys: Cache of shape `[B, T, Hkv, D]`, contiguous, the dtype of `query`; `H` is a multiple of `Hkv`.
        values: The same.
        position: Position of the query, shape `[1]`, int64, less than `T`.

    Returns:
        Shape `[B, 1, H, D]`.
    """
    op = "decode_attention"
    floating(op, "query", query)
    _check_caches(op, query, keys, values, position)
    if query.dim() != 4 or query.shape[1] != 1 or query.shape[3] != keys.shape[3] or query.shape[2] % keys.shape[2]:
        raise ValueError(
            f"{op}: query is {list(query.shape)}, keys are {list(keys.shape)}; [B, 1, H, D] and [B, T, Hkv, D] are "
            "needed, H a multiple of Hkv"
        )
    out: Tensor = ATTENTION(query, keys, values, position)
    return out


def decode_choose(logits: Tensor, token: Tensor, text: Tensor, position: Tensor) -> Tensor:
    """The likeliest token of each sequence, into `token`, and after `position` into the text; increments `position`.

    Args:
        logits: Shape `[B, 1, words]`; float16, bfloat16, float32 or float64, without NaN.
        token: Shape `[B, 1]`, int64.
        text: Shape `[B, length]`, int64; unchanged if the next position is beyond it.
        position: Position of the tokens before, shape `[1]`, int64.

    Returns:
        `token`.
    """
    op = "decode_choose"
    floating(op, "logits", logits)
    if logits.dim() != 3 or logits.shape[1] != 1 or token.shape != logits.shape[:2] or len(text) != len(logits):
        raise ValueError(
            f"{op}: logits are {list(logits.shape)}, token {list(token.shape)}, text {list(text.shape)}; "
            "[B, 1, words], [B, 1] and [B, length] are needed"
        )
    if not token.dtype == text.dtype == position.dtype == torch.int64:
        raise ValueError(
            f"{op}: token, text and position are {token.dtype}, {text.dtype}, {position.dtype}; int64 is needed"
        )
    return CHOOSE(logits, token, text, position)  # type: ignore[no-any-return]


def _check(op: str, x: Tensor, weight: Tensor) -> None:
    floating(op, "x", x)
    floating(op, "weight", weight)
    if x.dim() != 3 or x.shape[1] != 1 or weight.dim() != 2 or x.shape[2] != weight.shape[1]:
        raise ValueError(f"{op}: x is {list(x.shape)}, weight {list(weight.shape)}; [B, 1, K] and [N, K] are needed")
    if x.dtype != weight.dtype or x.device != weight.device:
        raise ValueError(f"{op}: x is {x.dtype} on {x.device}, weight {weight.dtype} on {weight.device}")


def _check_norm(op: str, x: Tensor, residual: Tensor | None, norm: Tensor, weight: Tensor) -> None:
    _check(op, x, weight)
    norm_weight(op, x, norm, "norm")
    if residual is not None:
        alike(op, "x", x, "residual", residual)


def _check_caches(op: str, x: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> None:
    floating(op, "keys", keys)
    alike(op, "keys", keys, "values", values)
    if keys.dim() != 4 or keys.shape[0] != x.shape[0] or keys.dtype != x.dtype or keys.device != x.device:
        raise ValueError(
            f"{op}: keys are {list(keys.shape)} {keys.dtype} on {keys.device}; [{x.shape[0]}, T, Hkv, D] {x.dtype} on "
            f"{x.device} is needed"
        )
    if position.shape != (1,) or position.dtype != torch.int64 or position.device != x.device:
        raise ValueError(
            f"{op}: position is {list(position.shape)} {position.dtype}; [1] int64 on {x.device} is needed"
        )
