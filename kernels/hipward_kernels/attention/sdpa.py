"""Attention by PyTorch's `scaled_dot_product_attention`.

`is_causal` aligns the mask to the upper left: one query with a cache of keys would see only the first key. Decoding
needs the lower-right alignment, so the flag is used only if both are the same.

The flash kernels read 16 bytes at a time without a check of the alignment: a misaligned view of 16-bit numbers ends the
process with a misaligned address (PyTorch 2.11 on an H200). Such a view is copied first.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

from hipward_kernels.attention.mask import causal_mask

if TYPE_CHECKING:
    from hipward_kernels.attention.call import Attend, Call


VECTOR_BYTES = 16


def refusal(call: Call) -> str | None:
    """Why this route cannot run the call, or None."""
    if call.mask is not None and call.mask.requires_grad:
        return "the mask requires a gradient, which PyTorch's flash kernels do not compute"
    return None


def aligned(x: Tensor) -> Tensor:
    """`x`, or a copy if vectors of 16 bytes cannot read its rows."""
    itemsize = x.itemsize
    # PyTorch pads rows of other widths, which copies them.
    whole = x.shape[-1] * itemsize % VECTOR_BYTES == 0
    strides_fit = not whole or all(stride * itemsize % VECTOR_BYTES == 0 for stride in x.stride()[:-1])
    if _begins_at(x) % VECTOR_BYTES == 0 and strides_fit:
        return x
    return x.clone(memory_format=torch.contiguous_format)


def _begins_at(x: Tensor) -> int:
    """The address of a tensor; of a fake tensor, its offset in the storage.

    A compiler aligns its own tensors, and copies misaligned arguments.
    """
    if not is_fake(x):
        with suppress(RuntimeError):  # A wrapper of `torch.func` has no address.
            return x.data_ptr()
    return int(x.storage_offset()) * x.itemsize


def _all_aligned(q: Tensor, k: Tensor, v: Tensor, itemsize: int) -> bool:
    """Whether `aligned` would return all three unchanged; may return False if a complete check is needed.

    Combines the bits of addresses and strides, because this runs at every call.
    """
    if not (type(q) is type(k) is type(v) is Tensor):
        return False
    try:
        addresses = q.data_ptr() | k.data_ptr() | v.data_ptr()
    except RuntimeError:
        return False
    qb, qs, qh, _ = q.stride()
    kb, ks, kh, _ = k.stride()
    vb, vs, vh, _ = v.stride()
    return (addresses | (qb | qs | qh | kb | ks | kh | vb | vs | vh) * itemsize) % VECTOR_BYTES == 0


def prepared(call: Call) -> Attend:
    """See `hipward_kernels.attention`."""
    queries, keys = call.query.shape[1], call.key.shape[1]
    scale, dropout = call.scale, call.dropout
    shared = bool(call.query.shape[2] != call.key.shape[2])
    dtype, itemsize = call.query.dtype, call.query.itemsize
    on_gpu = call.query.is_cuda and not torch.compiler.is_compiling()
    converts = call.mask is not None and call.mask.is_floating_point() and call.mask.dtype != dtype
    # A single query at the position of the last key sees all keys.
    causal = call.causal and queries > 1
    joins = causal and call.mask is not None
    chunk = causal and not joins and queries != keys
    flag = causal and not joins and not chunk

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if on_gpu and not _all_aligned(query, key, value, itemsize):
            query, key, value = aligned(query), aligned(key), aligned(value)
        if mask is not None:
            mask = mask.to(dtype) if converts else mask
            if joins:
                allowed = causal_mask(queries, keys, query.device)
                mask = mask & allowed if mask.dtype == torch.bool else mask.masked_fill(~allowed, -torch.inf)
        elif chunk:
            mask = causal_lower_right(queries, keys)
        return F.scaled_dot_product_attention(
            query.transpose(1, 2),
            key.transpose(1, 2),
            value.transpose(1, 2),
            mask,
            dropout,
            flag,
            scale=scale,
            enable_gqa=shared,
        ).transpose(1, 2)

    return attend
