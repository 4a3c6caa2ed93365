"""The ops under one name, whether or not `hipward_kernels` is installed, for your own modelling files.

Copy this file beside them, or import it. If the package is missing or broken, each op uses PyTorch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

try:
    from hipward_kernels.attention import attention
    from hipward_kernels.ops import add_rmsnorm, gelu_mul, rmsnorm, silu_mul

    OPTIMIZED = True
except ImportError:
    OPTIMIZED = False

    def rmsnorm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
        """RMSNorm of the last dimension, computed in float32."""
        y = F.rms_norm(x.float(), x.shape[-1:], None if weight is None else weight.float(), eps)
        return y.to(x.dtype)

    def add_rmsnorm(
        x: Tensor, residual: Tensor, weight: Tensor | None = None, eps: float = 1e-6
    ) -> tuple[Tensor, Tensor]:
        """RMSNorm of a sum, and the sum."""
        total = x + residual
        return rmsnorm(total, weight, eps), total

    def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
        """SiLU of the gate, times the other factor."""
        return (F.silu(gate.float()) * up.float()).to(gate.dtype)

    def gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
        """GELU (tanh form) of the gate, times the other factor."""
        return (F.gelu(gate.float(), approximate="tanh") * up.float()).to(gate.dtype)

    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
        use_aiter: bool | None = None,  # noqa: ARG001 - there is none
    ) -> Tensor:
        """Attention of `[B, S, H, D]`; the last query is at the position of the last key."""
        q, k, v = (x.transpose(1, 2) for x in (query, key, value))
        if causal:
            seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(k.shape[2] - q.shape[2])
            if mask is None:
                mask = seen
            else:
                mask = mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, -torch.inf)
        gqa = q.shape[1] != k.shape[1]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale, enable_gqa=gqa)
        return out.transpose(1, 2)


__all__ = ["OPTIMIZED", "add_rmsnorm", "attention", "gelu_mul", "rmsnorm", "silu_mul"]
