"""Replacements for parts of transformers' models. Each calls the original for cases that it does not support."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from hipward_kernels.attention import attention
from hipward_kernels.ops import gelu_mul, rmsnorm, rope, silu_mul

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

SDPA_PARAMETERS = ("module", "query", "key", "value", "attention_mask")

UNSUPPORTED = ("s_aux", "position_bias", "softcap", "cache")
"""Arguments of attention functions that change the result and that the router does not have."""


def gated(activation: str) -> Callable[[Tensor, Tensor], Tensor] | None:
    """The fused op for transformers' name of an activation; its `gelu` is the exact form, which has none."""
    if activation in ("silu", "swish"):
        return silu_mul
    return gelu_mul if activation == "gelu_pytorch_tanh" else None


def norm(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """RMSNorm of Llama, Qwen and Mistral."""

    @wraps(original)
    def forward(self: Any, hidden_states: Tensor) -> Tensor:
        return rmsnorm(hidden_states, self.weight, self.variance_epsilon)

    return forward


def norm_around_one(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """RMSNorm of Gemma, whose parameter is the difference of the weight from one."""

    @wraps(original)
    def forward(self: Any, x: Tensor) -> Tensor:
        # In float32, as the original: near one, 16 bits would round a small difference away.
        return rmsnorm(x, 1.0 + self.weight.float(), self.eps)

    return forward


def feed_forward(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The gated feed-forward: SiLU, or GELU in its tanh form."""

    @wraps(original)
    def forward(self: Any, x: Tensor) -> Tensor:
        activation = gated(self.config.hidden_act)
        if activation is None:
            return original(self, x)
        out: Tensor = self.down_proj(activation(self.gate_proj(x), self.up_proj(x)))
        return out

    return forward


def rotary(original: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Rotary embeddings of queries and keys."""

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


def attention_functions(original: Any) -> Any:
    """Transformers' attention functions with another `sdpa`.

    It is a new instance, which transformers' documentation recommends for a model's own functions. The other models
    use the shared one.
    """
    functions = type(original)()
    for name in original:
        functions[name] = sdpa(original[name]) if name == "sdpa" else original[name]
    return functions


def sdpa(original: Callable[..., Any]) -> Callable[..., Any]:
    """Attention through the router."""

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
        if any(rest.get(name) is not None for name in UNSUPPORTED):
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
