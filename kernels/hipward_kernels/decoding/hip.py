"""The parts of a decoding step in HIP: `product.hip` is every matrix product, `attention.hip` the attention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from hipward_kernels.decoding import plan
from hipward_kernels.decoding.plan import THREADS
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.gpu.facts import wavefront_of
from hipward_kernels.jit.kernel import Kernel
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.hip_launch import NAMES, Launches, aligned, at_least_as_wide, whole_vectors
from hipward_kernels.ops.launch import compute_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hipward_kernels.ops.rope.layout import Layout

Then = Literal["nothing", "swiglu", "qkv"]
"""What follows a product; the numbers of HIPWARD_THEN are the order."""
THEN: tuple[Then, ...] = ("nothing", "swiglu", "qkv")

PRODUCT = Launches(Kernel(Path(__file__).with_name("product.hip"), "product", "PPPPPPPPPPPIIf", overlaps=True))
ATTEND = Launches(Kernel(Path(__file__).with_name("attention.hip"), "attend", "PPPPPPPIIf", overlaps=True))
CHOOSE = Launches(Kernel(Path(__file__).with_name("choose.hip"), "choose", "PPPPIII", overlaps=True))
COMBINE = Launches(Kernel(Path(__file__).with_name("attention.hip"), "combine", "PPPI", overlaps=True))


def decode_linear(x: Tensor, weight: Tensor) -> Any:
    """See `hipward_kernels.decoding.decode_linear`."""
    if not takes(x, weight):
        return NotImplemented
    y = x.new_empty((x.shape[0], 1, weight.shape[0]))
    _product(x, None, None, 0.0, weight, y, x, "nothing")
    return y


def decode_norm_linear(x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor) -> Any:
    """See `hipward_kernels.decoding.decode_norm_linear`."""
    return _normed(x, residual, norm, eps, weight, weight.shape[0], "nothing")


def decode_norm_swiglu(x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor) -> Any:
    """See `hipward_kernels.decoding.decode_norm_swiglu`."""
    return _normed(x, residual, norm, eps, weight, weight.shape[0] // 2, "swiglu")


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
    layout: Layout,
) -> Any:
    """See `hipward_kernels.decoding.decode_norm_qkv`."""
    fits = takes(x, weight, residual, norm) and keys.is_contiguous() and values.is_contiguous()
    if not fits or not at_least_as_wide(cos.dtype, x.dtype) or not (cos.is_contiguous() and sin.is_contiguous()):
        return NotImplemented
    batch, room, kv_heads, features = keys.shape
    heads = weight.shape[0] // features - 2 * kv_heads
    query = x.new_empty((batch, 1, heads, features))
    total = x if residual is None else x.new_empty(x.shape)
    _product(
        x, residual, norm, eps, weight, query, total, "qkv", (cos, sin, keys, values, position), room,
        C=NAMES[cos.dtype], HALF=int(layout == "half"), HEADS=heads, KV_HEADS=kv_heads, HEAD_DIM=features,
    )  # fmt: skip
    return query, total


def takes(x: Tensor, weight: Tensor, residual: Tensor | None = None, norm: Tensor | None = None) -> bool:
    """Whether the kernel supports a product of these arguments."""
    batch, _, columns = x.shape
    given = [part for part in (x, weight, residual, norm) if part is not None]
    if not 0 < batch <= plan.MOST_SEQUENCES or not weight.numel() or trains(*given):
        return False
    if norm is not None and not (at_least_as_wide(norm.dtype, x.dtype) and plan.fits(batch, columns, x.itemsize)):
        return False
    return whole_vectors(x.itemsize, columns) and all(part.is_contiguous() for part in given) and aligned(*given)


def _normed(
    x: Tensor, residual: Tensor | None, norm: Tensor, eps: float, weight: Tensor, outputs: int, then: Then
) -> Any:
    if not takes(x, weight, residual, norm):
        return NotImplemented
    y = x.new_empty((x.shape[0], 1, outputs))
    total = x if residual is None else x.new_empty(x.shape)
    _product(x, residual, norm, eps, weight, y, total, then)
    return y, total


def _product(
    x: Tensor,
    residual: Tensor | None,
    norm: Tensor | None,
    eps: float,
    weight: Tensor,
    y: Tensor,
    total: Tensor,
    then: Then,
    of_attention: Sequence[Tensor] = (),
    room: int = 0,
    **macros: object,
) -> None:
    """Launches the kernel; what a form does not use is passed as `x`."""
    batch, _, columns = x.shape
    device = x.get_device()
    name = NAMES[x.dtype]
    lanes = plan.lanes(columns, x.itemsize, wavefront_of(get_gfx(device)))
    groups = weight.shape[0] // (1 if then == "nothing" else 2)
    tiles = plan.tiles(groups * lanes, batch) if then == "swiglu" else 1
    form = {
        "T": name,
        "W": name if norm is None else NAMES[norm.dtype],
        "C": name,
        "COLUMNS": columns,
        "BATCH": batch,
        "LANES": lanes,
        "NORM": int(norm is not None),
        "ADD": int(residual is not None),
        "THEN": THEN.index(then),
        "HALF": 0,
        "HEADS": 1,
        "KV_HEADS": 1,
        "HEAD_DIM": 2,
        "TILES": tiles,
        **macros,
    }
    launch = PRODUCT.get(device, THREADS, **form)
    pointers = (x, x if residual is None else residual, x if norm is None else norm, weight, y, total)
    unused = 5 - len(of_attention)
    addresses = [part.data_ptr() for part in (*pointers, *of_attention, *[x] * unused)]
    launch(-(-groups * lanes // (THREADS * tiles)), *addresses, groups, room, eps)


def decode_attention(query: Tensor, keys: Tensor, values: Tensor, position: Tensor) -> Any:
    """See `hipward_kernels.decoding.decode_attention`."""
    given = (query, keys, values)
    if trains(*given) or not keys.numel() or not all(part.is_contiguous() for part in given) or not aligned(*given):
        return NotImplemented
    batch, _, heads, features = query.shape
    room, kv_heads = keys.shape[1:3]
    device = query.get_device()
    wave = wavefront_of(get_gfx(device))
    if not plan.has_teams(features, query.itemsize, wave):
        return NotImplemented
    units = compute_units(device)
    shared = plan.shared_heads(heads // kv_heads, batch * heads, units)
    rows = batch * heads // shared
    splits = plan.splits(rows, room, units)
    threads = plan.attention_threads(features, shared, wave)
    form = {
        "T": NAMES[query.dtype],
        "HEADS": heads,
        "KV_HEADS": kv_heads,
        "HEAD_DIM": features,
        "SHARED": shared,
        "THREADS": threads,
    }
    launch = ATTEND.get(device, threads, **form, SPLIT=int(splits > 1))
    out = query.new_empty(query.shape)
    if splits == 1:
        parts, softmax = out, out
    else:
        parts = query.new_empty((batch, heads, splits, features), dtype=torch.float32)
        softmax = query.new_empty((batch, heads, splits, 2), dtype=torch.float32)
    tensors = (query, keys, values, position, out, parts, softmax)
    launch(rows * splits, *(part.data_ptr() for part in tensors), room, splits, features**-0.5)
    if splits > 1:
        merge = COMBINE.get(device, threads, **form, SPLIT=1)
        merge(batch * heads, parts.data_ptr(), softmax.data_ptr(), out.data_ptr(), splits)
    return out


def decode_choose(logits: Tensor, token: Tensor, text: Tensor, position: Tensor) -> Any:
    """See `hipward_kernels.decoding.decode_choose`."""
    given = (logits, token, text)
    if not 0 < logits.numel() <= plan.MOST_LOGITS or not all(part.is_contiguous() for part in given):
        return NotImplemented
    batch, _, words = logits.shape
    launch = CHOOSE.get(logits.get_device(), plan.CHOOSE_THREADS, T=NAMES[logits.dtype])
    launch(1, *(part.data_ptr() for part in (*given, position)), batch, words, text.shape[1])
    return token
