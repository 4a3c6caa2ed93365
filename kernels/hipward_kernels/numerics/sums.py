"""Length of the longest sum of a computation, which rounding errors depend on (`limit.py`)."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from hipward_kernels.numerics.limit import LONGEST_ROW, row_length
from hipward_kernels.numerics.nested import operands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


def _along_dimension(args: Sequence[Any]) -> int:
    return int(args[0].shape[args[1]])


def _normalized(args: Sequence[Any]) -> int:
    return math.prod(args[1])


def _channel(args: Sequence[Any]) -> int:
    return int(args[0].numel() // args[0].shape[1])


_VECTOR_PRODUCTS = ("mv", "addmv", "dot", "vdot")
"""Products that PyTorch's flop counter does not count; the sum is over their last tensor."""

_LENGTHS: Mapping[str, Callable[[Sequence[Any]], int]] = {
    **dict.fromkeys(("_softmax", "_log_softmax", "cumsum", "logcumsumexp", "cumprod"), _along_dimension),
    **dict.fromkeys(("native_layer_norm", "_fused_rms_norm"), _normalized),
    **dict.fromkeys(("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"), _channel),
    **dict.fromkeys(("cudnn_batch_norm", "miopen_batch_norm"), _channel),
    "native_group_norm": lambda args: int(args[0].numel() // (args[0].shape[0] * args[6])),
    "nll_loss_forward": lambda args: int(args[1].numel()),
}
"""Lengths of sums that cannot be computed from the sizes of input and result, from the arguments of the op."""

_UNKNOWN = ("rnn", "lstm", "gru", "_transformer", "_native_multi_head", "linalg", "embedding_bag")
"""Parts of names of ops that contain several products or sums."""


class LongestSum(TorchDispatchMode):
    """Measures each op that runs within a `with` block."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.length = 1
        """Length of the longest sum so far."""

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        # The default, if the arguments of an op are not as expected.
        length = LONGEST_ROW
        with suppress(Exception):
            length = _length(func, args, kwargs or {}, out)
        self.length = max(self.length, length)
        return out


def _length(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> int:
    results = [x for x in operands(out) if x.is_floating_point() or x.is_complex()]
    given = [x for x in args if isinstance(x, Tensor)]
    if not results or not results[0].numel() or not given or getattr(func, "is_view", False):
        return 1
    result = results[0]
    packet = func.overloadpacket
    name = packet.__name__
    if packet in flop_registry:
        # A product has a multiplication and an addition for each summand. GPUs add all of K in one accumulator, so this
        # length is not limited.
        return int(flop_registry[packet](*args, **kwargs, out_val=out)) // (2 * result.numel())
    if name in _VECTOR_PRODUCTS:
        return given[-1].numel()
    if func.namespace not in ("aten", "prims") or any(part in name for part in _UNKNOWN):
        return LONGEST_ROW
    length = _LENGTHS[name](args) if name in _LENGTHS else max(given[0].numel() // result.numel(), 1)
    return row_length(length)


def with_longest_sum(call: Callable[[], T]) -> tuple[T, int]:
    """Result of `call`, and length of its longest sum: `LONGEST_ROW` if it cannot run under a dispatch mode."""
    sums = LongestSum()
    # Foreign code under a dispatch mode may raise anything.
    with suppress(Exception), torch.no_grad(), sums:
        return call(), sums.length
    return call(), LONGEST_ROW
