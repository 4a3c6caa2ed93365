"""Patches for transformers' Llama: RMSNorm, rotary embeddings, the activation of the feed-forward, attention.

Each replacement calls the original for cases that it does not support, such as another activation.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from hipward_kernels.attention import attention
from hipward_kernels.ops import rmsnorm, rope, silu_mul
from hipward_kernels.overlay.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

OLDEST = (4, 53)
BEFORE = (6, 0)

MODULE = "transformers.models.llama.modeling_llama"


def patches() -> list[Patch]:
    """The patches, for `hipward_kernels.overlay.patched`."""
    return [
        Patch(MODULE, "LlamaRMSNorm.forward", ("self", "hidden_states"), _norm),
        Patch(MODULE, "LlamaMLP.forward", ("self", "x"), _feed_forward),
        Patch(MODULE, "apply_rotary_pos_emb", ("q", "k", "cos", "sin"), _rotary),
        Patch(
            "transformers.modeling_utils",
            "ALL_ATTENTION_FUNCTIONS[sdpa]",
            ("module", "query", "key", "value", "attention_mask"),
            _attention,
        ),
    ]


def _norm(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(original)
    def forward(self: Any, hidden_states: Tensor) -> Tensor:
        return rmsnorm(hidden_states, self.weight, self.variance_epsilon)

    return forward


def _feed_forward(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(original)
    def forward(self: Any, x: Tensor) -> Tensor:
        if self.config.hidden_act not in ("silu", "swish"):
            return original(self, x)
        out: Tensor = self.down_proj(silu_mul(self.gate_proj(x), self.up_proj(x)))
        return out

    return forward


def _rotary(original: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    @wraps(original)
    def rotate(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *rest: Any, unsqueeze_dim: int = 1, **more: Any
    ) -> tuple[Tensor, Tensor]:
        if rest or more or unsqueeze_dim not in (1, 2) or cos.dim() != 3 or cos.shape[-1] != q.shape[-1]:
            return original(q, k, cos, sin, *rest, unsqueeze_dim=unsqueeze_dim, **more)
        # transformers doubles the table, and has one table for the batch if the positions are the same.
        cos, sin = (table[..., : table.shape[-1] // 2].contiguous() for table in (cos, sin))
        if cos.shape[0] == 1:
            cos, sin = cos[0], sin[0]
        if unsqueeze_dim == 2:
            return rope(q, cos, sin), rope(k, cos, sin)
        return rope(q.transpose(1, 2), cos, sin).transpose(1, 2), rope(k.transpose(1, 2), cos, sin).transpose(1, 2)

    return rotate


def _attention(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def attend(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        scaling: float | None = None,
        is_causal: bool | None = None,  # noqa: FBT001 - as transformers calls it
        **rest: Any,
    ) -> Any:
        if any(value is not None for name, value in rest.items() if name in ("s_aux", "position_bias")):
            return original(
                module, query, key, value, attention_mask,
                dropout=dropout, scaling=scaling, is_causal=is_causal, **rest,
            )  # fmt: skip
        causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        q, k, v = (x.transpose(1, 2) for x in (query, key, value))
        if attention_mask is not None:
            attention_mask = attention_mask[..., : k.shape[1]]
        # transformers passes no mask if the mask is causal.
        out = attention(
            q, k, v, mask=attention_mask, causal=causal and attention_mask is None, scale=scaling, dropout=dropout
        )
        return out, None

    return attend
