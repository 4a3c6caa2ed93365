"""The benchmark cases of attention, joined projections and shuffled weights: rivals, bytes and operations.

This module times nothing. The shapes are those of a layer of Llama-3-8B.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

from hipward_kernels.attention import attention, refusals
from hipward_kernels.attention.call import Call
from hipward_kernels.attention.mask import causal_mask
from hipward_kernels.dispatch.registry import disabled
from hipward_kernels.linear import choose, refusal
from hipward_kernels.linear.preshuffle import Shuffled
from hipward_kernels.linear.preshuffled import PreshuffledLinear
from hipward_kernels.projections import FusedGateUp, FusedQKV

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SDPA = "F.scaled_dot_product_attention"
MASKED = "the same, boolean mask"
"""The rival that passes the pattern as a boolean mask instead of by name."""
JOINED = "joined, torch.compile"
"""The rival that compiles the product with the same joined weight."""


@dataclass(frozen=True)
class Sizes:
    """A layer's sizes, and the numbers of tokens that it is measured with."""

    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    length: int
    """Tokens of a prompt or of a cache."""
    chunk: int
    """Queries in one chunk of a prompt."""
    batch: int
    rows: tuple[int, ...]
    """Numbers of tokens that a linear layer is measured with."""

    @property
    def hidden(self) -> int:
        """Features of a token."""
        return self.heads * self.head_dim


SIZES = {
    "8b": Sizes(32, 8, 128, 14336, 4096, 512, 32, (1, 32, 2048, 16384)),
    "tiny": Sizes(4, 2, 16, 128, 32, 8, 2, (1, 8)),
}


@dataclass(frozen=True)
class RoutedCase:
    """One call of a routed part of a model, with its rivals."""

    op: str
    """The package's folder: `attention`, `projections`, `linear`."""
    part: str
    shape: str
    rows: int
    dtype: torch.dtype
    arguments: Callable[[], tuple[Tensor, ...]]
    """Fresh random arguments."""
    eager: Callable[..., Any]
    """The part as most models write it."""
    ours: Callable[..., Any]
    rivals: Mapping[str, Callable[..., Any]]
    """The other implementations, except torch.compile of `eager`."""
    torch_op: str
    """The name of the variant that uses PyTorch's own op, or the smallest number of its ops."""
    definition: Callable[..., Any]
    """The definition in float64."""
    route: Callable[..., str]
    """Returns the route that `ours` takes with these arguments."""
    bytes_moved: int
    """Bytes if each input and weight is read once and each output is written once."""
    flops: int
    """A multiplication and its addition count as two. For attention, only the pairs that the mask allows count."""

    def __str__(self) -> str:
        return f"{self.op}, {self.part}, {self.shape}"


def plain_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """The baseline: attention as Hugging Face's Llama writes it, with copied heads and an additive mask."""
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    groups = q.shape[1] // k.shape[1]
    k, v = (x[:, :, None].expand(-1, -1, groups, -1, -1).flatten(1, 2) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1, dtype=torch.float32).to(q.dtype)
    attended: Tensor = weights @ v
    return attended.transpose(1, 2)


def _sdpa(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=True).transpose(1, 2)


def _attention(part: str, sizes: Sizes, dtype: torch.dtype, device: torch.device) -> RoutedCase:
    """A case for a prompt, a chunk of one, a decoding step of several sequences, or padded sequences."""
    keys = sizes.length
    queries = {"chunk of a prompt": sizes.chunk, "decode": 1}.get(part, keys)
    batch = {"decode": sizes.batch, "padded": 2}.get(part, 1)
    queries_shape = (batch, queries, sizes.heads, sizes.head_dim)
    keys_shape = (batch, keys, sizes.kv_heads, sizes.head_dim)
    causal = part != "padded"
    mask: Tensor | None = None
    if not causal:
        # The first sequence is half as long as the others.
        mask = torch.ones(batch, 1, 1, keys, dtype=torch.bool, device=device)
        mask[0, ..., keys // 2 :] = False
        pairs = queries * int(mask.sum())
    else:
        pairs = batch * (queries * keys - queries * (queries - 1) // 2)
        if queries > 1:
            mask = causal_mask(queries, keys, device)
    # Models create the mask once for all layers.
    added = None
    if mask is not None:
        added = torch.zeros(mask.shape, dtype=dtype, device=device).masked_fill(~mask, torch.finfo(dtype).min)
    rivals = {SDPA: partial(_sdpa, mask=None if causal else mask, causal=causal and queries == keys)}
    if causal and 1 < queries < keys:
        rivals = {
            SDPA: partial(_sdpa, mask=causal_lower_right(queries, keys), causal=False),
            MASKED: partial(_sdpa, mask=mask, causal=False),
        }

    ours = partial(attention, mask=None if causal else mask, causal=causal)

    def arguments() -> tuple[Tensor, ...]:
        shapes = (queries_shape, keys_shape, keys_shape)
        return tuple(torch.randn(shape, dtype=dtype, device=device) for shape in shapes)

    def call(query: Tensor, key: Tensor, value: Tensor) -> Call:
        return Call(query, key, value, None if causal else mask, causal, sizes.head_dim**-0.5, 0.0)

    def definition(*qkv: Tensor) -> Tensor:
        with disabled("aiter", "sdpa"):
            return ours(*(x.double() for x in qkv))

    elements = 2 * batch * queries * sizes.hidden + 2 * batch * keys * sizes.kv_heads * sizes.head_dim
    return RoutedCase(
        op="attention",
        part=part,
        shape="q {}, k {}".format("x".join(map(str, queries_shape)), "x".join(map(str, keys_shape))),
        rows=batch * queries,
        dtype=dtype,
        arguments=arguments,
        eager=partial(plain_attention, mask=added),
        ours=ours,
        rivals=rivals,
        torch_op=SDPA,
        definition=definition,
        route=lambda *qkv: next(route for route, why in refusals(call(*qkv)).items() if why is None),
        bytes_moved=elements * dtype.itemsize + (0 if causal or mask is None else mask.nbytes),
        flops=4 * sizes.heads * sizes.head_dim * pairs,
    )


def _layer(inputs: int, outputs: int, dtype: torch.dtype, device: torch.device) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False, dtype=dtype, device=device).requires_grad_(requires_grad=False)


def _wide(layer: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x.double(), layer.weight.double())


def _product(op: str, part: str, rows: int, layers: list[nn.Linear], results: int, **functions: Any) -> RoutedCase:
    """A case that multiplies `rows` tokens by the weights of `layers` and writes `results` features per token."""
    k, n = layers[0].in_features, sum(layer.out_features for layer in layers)
    weight = layers[0].weight
    return RoutedCase(
        op=op,
        part=part,
        shape=f"{rows}x{k}, weight {n}x{k}",
        rows=rows,
        dtype=weight.dtype,
        arguments=lambda: (torch.randn(1, rows, k, dtype=weight.dtype, device=weight.device),),
        torch_op="eager",
        bytes_moved=(rows * k + n * k + rows * results) * weight.itemsize,
        flops=2 * rows * n * k,
        **functions,
    )


def _qkv(rows: int, sizes: Sizes, dtype: torch.dtype, device: torch.device) -> RoutedCase:
    shared = sizes.kv_heads * sizes.head_dim
    query, key, value = (_layer(sizes.hidden, size, dtype, device) for size in (sizes.hidden, shared, shared))
    layers = [query, key, value]
    joined = FusedQKV(query, key, value, sizes.heads, sizes.kv_heads)

    def by_heads(project: Callable[[nn.Linear, Tensor], Tensor], x: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.unflatten(project(layer, x), -1, (-1, sizes.head_dim)) for layer in layers)

    return _product(
        "projections",
        "query, key and value",
        rows,
        layers,
        sizes.hidden + 2 * shared,
        eager=partial(by_heads, lambda layer, x: layer(x)),
        ours=joined,
        rivals={JOINED: torch.compile(joined.forward, dynamic=False)},
        definition=partial(by_heads, _wide),
        route=lambda x: choose(x, joined.weight, None),
    )


def _gate_up(rows: int, sizes: Sizes, dtype: torch.dtype, device: torch.device) -> RoutedCase:
    gate, up = (_layer(sizes.hidden, sizes.intermediate, dtype, device) for _ in range(2))
    joined = FusedGateUp(gate, up)
    weight = joined.weight

    def halves(x: Tensor) -> Tensor:
        left, right = F.linear(x, weight).chunk(2, -1)
        return F.silu(left) * right

    return _product(
        "projections",
        "gate and up",
        rows,
        [gate, up],
        sizes.intermediate,
        eager=lambda x: F.silu(gate(x)) * up(x),
        ours=joined,
        rivals={JOINED: torch.compile(halves, dynamic=False)},
        definition=lambda x: F.silu(_wide(gate, x)) * _wide(up, x),
        route=lambda x: choose(x, weight, None),
    )


def _preshuffled(rows: int, sizes: Sizes, dtype: torch.dtype, device: torch.device) -> RoutedCase:
    """The preshuffled layer. Without aiter it uses the plain weight; the time then shows the cost of routing."""
    layer = _layer(sizes.hidden, sizes.hidden, dtype, device)
    ours = PreshuffledLinear(layer, rows=1)

    def route(x: Tensor) -> str:
        return "plain" if refusal("preshuffled", x, layer.weight, None) else "preshuffled"

    return _product(
        "linear",
        "shuffled weight, product",
        rows,
        [layer],
        sizes.hidden,
        eager=layer,
        ours=ours,
        rivals={},
        definition=partial(_wide, layer),
        route=route,
    )


def plain_shuffle(weight: Tensor) -> Tensor:
    """The baseline: a weight of 16-bit numbers put in the kernels' order tile by tile, as the layout is described."""
    n, k = weight.shape
    tiles = weight.view(n // 16, 16, k // 32, 32).transpose(1, 2)
    return torch.unflatten(tiles, -1, (4, 8)).transpose(2, 3).reshape(n, k)


def _shuffle(sizes: Sizes, dtype: torch.dtype, device: torch.device) -> RoutedCase:
    """A case for shuffling a weight, which happens once at load."""
    shape = (sizes.hidden, sizes.intermediate)
    return RoutedCase(
        op="linear",
        part="shuffled weight, at load",
        shape="x".join(map(str, shape)),
        rows=sizes.hidden,
        dtype=dtype,
        arguments=lambda: (torch.randn(shape, dtype=dtype, device=device),),
        eager=plain_shuffle,
        ours=lambda weight: Shuffled.of(weight).data,
        rivals={},
        torch_op="eager",
        definition=lambda weight: plain_shuffle(weight.double()),
        route=lambda _: "PyTorch's copy",
        bytes_moved=2 * shape[0] * shape[1] * dtype.itemsize,
        flops=0,
    )


def cases(sizes: Sizes, dtype: torch.dtype, device: torch.device) -> Iterator[tuple[str, Callable[[], RoutedCase]]]:
    """Yields each op's name with a function that builds its case, so that weights take memory only while measured."""
    for part in ("prompt", "chunk of a prompt", "decode", "padded"):
        yield "attention", partial(_attention, part, sizes, dtype, device)
    for make in (_qkv, _gate_up):
        for rows in sizes.rows:
            yield "projections", partial(make, rows, sizes, dtype, device)
    if dtype.itemsize == 2:
        for rows in sizes.rows[::2]:
            yield "linear", partial(_preshuffled, rows, sizes, dtype, device)
        yield "linear", partial(_shuffle, sizes, dtype, device)
