"""The reference results: the author's `Model`, computed in float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from hipward_kernels.harness.contract import seed_everything
from hipward_kernels.harness.failure import is_out_of_memory
from hipward_kernels.numerics.limit import Limit, coarsest
from hipward_kernels.numerics.nested import cloned, fingerprint, flatten, tensors
from hipward_kernels.numerics.sums import with_longest_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOW = (torch.float32, torch.bfloat16, torch.float16, torch.complex64, torch.complex32)
_COMPLEX = {torch.float64: torch.complex128, torch.float32: torch.complex64}


def _widened(dtype: torch.dtype, wide: torch.dtype) -> torch.dtype:
    """`wide` for floating-point numbers, its complex type for complex ones; others stay."""
    if dtype.is_complex:
        return _COMPLEX[wide]
    return wide if dtype.is_floating_point else dtype


def _convert(model: nn.Module, wide: torch.dtype) -> nn.Module:
    """Converts parameters and buffers. `Module.to` would drop the imaginary part of complex ones."""
    # What `Module.to` calls.
    model._apply(lambda x: x.to(_widened(x.dtype, wide)))  # type: ignore[no-untyped-call]  # noqa: SLF001
    return model


class _Widened(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Replaces conversions to a lower precision by `wide`: `x.float()` in a norm stays float64."""

    def __init__(self, wide: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._wide = wide

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if named.get("dtype") in _LOW:
            named["dtype"] = _widened(named["dtype"], self._wide)
        return func(*args, **named)


@dataclass(frozen=True)
class Known:
    """A reference that was computed."""

    seed: int
    """Seed of the inputs and of the call."""
    inputs: tuple[Any, ...]
    """`fingerprint` of the inputs."""
    outputs: dict[str, Any]
    seconds: float
    """Time of the computation."""


class Reference:
    """Results of a model in the highest precision that it supports."""

    def __init__(
        self, model: nn.Module, copy: Callable[[], nn.Module], inputs: Sequence[Any], seed: int | None = None
    ) -> None:
        """Determines the precision by running copies of the model on `inputs`.

        With `seed`, the seed of the inputs, the result is kept for `take_first`: computing it may take long.
        """
        self.dtype = "eager"
        """`float64`, `float32`, or `eager` if the model supports no other precision than its own."""
        self._wide: torch.dtype | None = None
        self._first: Known | None = None
        of_call = 0 if seed is None else seed
        for wide in (torch.float64, torch.float32):
            try:
                self._model, self._wide = _convert(copy(), wide), wide
                started = perf_counter()
                got, longest = with_longest_sum(lambda: self._results(inputs, of_call))
                seconds = perf_counter() - started
                wanted = all(x.dtype == _widened(x.dtype, wide) for x in tensors(got))
                if wanted and seed is not None:
                    self._first = Known(seed, fingerprint(inputs), got, seconds)
                # Frees memory for the next steps.
                del got
            # User code may raise anything in a dtype that it does not support; then the next dtype is tried.
            except Exception:  # noqa: S112
                continue
            if wanted:
                self.dtype = str(wide).removeprefix("torch.")
                break
        else:
            self._model, self._wide = model, None
            _, longest = with_longest_sum(lambda: self._results(inputs, of_call))
        dtypes = [x.dtype for x in (*tensors(list(inputs)), *model.parameters(), *model.buffers())]
        self.limit = Limit(longest, coarsest(dtypes), self._wide)
        """Limit for the errors of other implementations."""

    def take_first(self) -> Known | None:
        """The result for the inputs that the precision was determined with. It is not held any longer."""
        first, self._first = self._first, None
        return first

    def known(self, inputs: Sequence[Any], seed: int) -> Known:
        """The reference for `inputs`, which were made with `seed`."""
        started = perf_counter()
        outputs = self(inputs, seed)
        return Known(seed, fingerprint(inputs), outputs, perf_counter() - started)

    def __call__(self, inputs: Sequence[Any], seed: int) -> dict[str, Any]:
        """The reference's outputs for `inputs`, by name."""
        try:
            return self._results(inputs, seed)
        except BaseException as error:
            if not is_out_of_memory(error) or self._wide != torch.float64:
                raise
        # Variants were built since the precision was determined, so that less memory is left. Not within `except`,
        # where the exception would hold the memory of the failed call.
        self._narrow()
        return self._results(inputs, seed)

    def _results(self, inputs: Sequence[Any], seed: int) -> dict[str, Any]:
        seed_everything(seed)
        if self._wide is None:
            with torch.no_grad():
                return flatten(self._model(*cloned(list(inputs))))
        with torch.no_grad(), _Widened(self._wide):
            return flatten(self._model(*_copied(list(inputs), self._wide)))

    def _narrow(self) -> None:
        """Computes in float32 from now on, with half the memory."""
        self._wide = torch.float32
        self._model = _convert(self._model, torch.float32)
        self.dtype = "float32"
        self.limit = replace(self.limit, reference=torch.float32)
        # Does nothing if no GPU is used.
        torch.cuda.empty_cache()


def _copied(value: Any, dtype: torch.dtype) -> Any:
    """A copy with floating-point tensors in `dtype`, and complex ones in its complex type."""
    if isinstance(value, Tensor):
        return value.to(_widened(value.dtype, dtype), copy=True)
    if type(value) in (list, tuple):
        return type(value)(_copied(item, dtype) for item in value)
    if type(value) is dict:
        return {key: _copied(item, dtype) for key, item in value.items()}
    return value
