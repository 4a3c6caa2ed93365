"""Attention by PyTorch's `scaled_dot_product_attention`.

Its `is_causal` aligns the mask to the upper left: with one query and a cache of keys it would see only the first key. A
decode step needs the lower right, so that flag is used only where both are the same.

Its flash kernels read 16 bytes at a time without looking where a tensor begins: a view of 16-bit numbers that begins
between ends the process with a misaligned address (PyTorch 2.11 on an H200). Such a view is copied first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._subclasses.fake_tensor import is_fake
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

from hipward_kernels.attention.mask import causal_mask

if TYPE_CHECKING:
    from torch import Tensor

    from hipward_kernels.attention.call import Call


VECTOR_BYTES = 16


def refusal(call: Call) -> str | None:
    """Why this route cannot run the call, or None."""
    if call.mask is not None and call.mask.requires_grad:
        return "the mask requires a gradient, which PyTorch's flash kernels do not compute"
    return None


def aligned(x: Tensor) -> Tensor:
    """`x`, or a copy of it where vectors of 16 bytes cannot read its rows."""
    if not x.is_cuda or torch.compiler.is_compiling():
        return x
    itemsize = x.itemsize
    # Rows of another width are copied by PyTorch, which fills them up.
    whole = x.shape[-1] * itemsize % VECTOR_BYTES == 0
    strides_fit = not whole or all(stride * itemsize % VECTOR_BYTES == 0 for stride in x.stride()[:-1])
    if _begins_at(x) % VECTOR_BYTES == 0 and strides_fit:
        return x
    return x.clone(memory_format=torch.contiguous_format)


def _begins_at(x: Tensor) -> int:
    """The address of a tensor; of one without memory, which a compiler traces with, where it begins in what it views.

    A compiler's own tensors begin at vectors, and it copies arguments that do not.
    """
    return int(x.storage_offset()) * x.itemsize if is_fake(x) else x.data_ptr()


def attention(call: Call) -> Tensor:
    """See `hipward_kernels.attention`."""
    q, k, v = (aligned(x).transpose(1, 2) for x in (call.query, call.key, call.value))
    queries, keys = q.shape[2], k.shape[2]
    mask = call.mask
    if mask is not None and mask.is_floating_point():
        mask = mask.to(q.dtype)
    # One query at the end of the keys sees all of them.
    causal = call.causal and queries > 1
    if causal and mask is not None:
        allowed = causal_mask(queries, keys, q.device)
        mask = mask & allowed if mask.dtype == torch.bool else mask.masked_fill(~allowed, -torch.inf)
        causal = False
    if causal and queries != keys:
        mask = causal_lower_right(queries, keys)
        causal = False
    out = F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=mask,
        dropout_p=call.dropout,
        is_causal=causal,
        scale=call.scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return out.transpose(1, 2)
