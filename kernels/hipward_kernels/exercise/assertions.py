"""Helpers for judges. A failed expectation raises `ExpectationError`, whose text is shown to the learner."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random as random_module
    from types import ModuleType

    import torch


class ExpectationError(AssertionError):
    """A case failed; the text is the message for the learner."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        """Line of the learner's file, from 1, if the judge knows it."""


class Unavailable(Exception):  # noqa: N818 - judges raise it by this name; it is not a mistake of anybody
    """The case cannot be checked on this machine; the text gives the reason, such as a missing compiler."""


def expect(condition: object, message: str, *, line: int | None = None) -> None:
    """Fails the case with `message` unless `condition` is true.

    A tensor of several elements is true if all its elements are. `line` is the line of the learner's file that the
    message is about.
    """
    if hasattr(condition, "all") and getattr(condition, "ndim", 0) > 0:
        condition = condition.all()
    if not condition:
        raise ExpectationError(message, line)


def expect_close(got: Any, expected: Any, *, atol: float = 0.0, rtol: float = 0.0, what: str = "the result") -> None:
    """Fails the case unless `got` equals `expected` within `atol + rtol * |expected|`, element by element, in float64.

    The message names the shape, or the first differing element with both values. NaN equals NaN, and an infinity equals
    itself only. Dtypes and devices are not compared.

    Args:
        got: A tensor, an array, a number, or a list or tuple of these.
        expected: The same structure.
        atol: Absolute tolerance.
        rtol: Tolerance relative to the expected value.
        what: The subject of the message.
    """
    if isinstance(expected, (list, tuple)) and not all(isinstance(item, (int, float)) for item in expected):
        expect(isinstance(got, (list, tuple)), f"{what} is {_described(got)}, expected {len(expected)} values")
        expect(len(got) == len(expected), f"{what} has {len(got)} values, expected {len(expected)}")
        for position, (one, other) in enumerate(zip(got, expected, strict=True)):
            expect_close(one, other, atol=atol, rtol=rtol, what=f"{what}[{position}]")
        return
    actual, wanted = _tensor(got, what), _tensor(expected, "the expected value")
    expect(
        actual.shape == wanted.shape,
        f"{what} has shape {tuple(actual.shape)}, expected {tuple(wanted.shape)}",
    )
    same, difference, allowed = _agreement(actual, wanted, atol, rtol)
    if same.all():
        return
    wrong = (~same).nonzero()
    first = tuple(wrong[0].tolist())
    place = f"{what}{list(first)}" if first else what
    message = f"{place} is {_number(actual[first])}, expected {_number(wanted[first])}"
    if math.isfinite(off := difference[first].item()):
        message += f" (off by {off:.3g}, allowed {allowed[first].item():.3g})"
    if same.numel() > 1:
        message += f"; {len(wrong)} of {same.numel()} elements differ, shape {tuple(same.shape)}"
    raise ExpectationError(message)


def differing(got: Any, expected: Any, *, atol: float = 0.0, rtol: float = 0.0) -> list[int]:
    """Indices of the elements in which two tensors of the same shape differ, counted row by row; see `expect_close`.

    Empty if the shapes differ.
    """
    actual, wanted = _tensor(got, "the result"), _tensor(expected, "the expected value")
    if actual.shape != wanted.shape:
        return []
    indices: list[int] = (~_agreement(actual, wanted, atol, rtol)[0]).reshape(-1).nonzero().reshape(-1).tolist()
    return indices


def _agreement(
    actual: torch.Tensor, wanted: torch.Tensor, atol: float, rtol: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which elements agree, their difference, and the allowed difference."""
    with _no_grad():
        allowed = atol + rtol * wanted.abs()
        difference = (actual - wanted).abs()
        # Not `difference > allowed`: a NaN on one side only is a difference.
        same = (difference <= allowed) | (actual == wanted) | (actual.isnan() & wanted.isnan())
        # The difference to an infinity is not within any tolerance, and an infinite tolerance is none.
        same &= (actual == wanted) | ~(actual.isinf() | wanted.isinf())
    return same, difference, allowed


def source_of(answer: ModuleType) -> str:
    """The text of the learner's file."""
    return Path(str(answer.__file__)).read_text(encoding="utf-8")


def tensor(
    random: random_module.Random, *shape: int, dtype: torch.dtype | None = None, low: int = -100, high: int = 100
) -> torch.Tensor:
    """A tensor whose values differ by element and by run.

    Floating-point and complex values are normally distributed; types with fewer digits are rounded from float32.
    Integers are from `low` to `high`, booleans are drawn.

    Args:
        random: The case's generator; its state advances.
        *shape: Sizes.
        dtype: Type of the elements; float32 if None.
        low: The least integer.
        high: The greatest integer.
    """
    import torch  # noqa: PLC0415 - this package's import is cheap for a program that only reads exercises

    dtype = dtype or torch.float32
    generator = torch.Generator().manual_seed(random.getrandbits(63))
    if dtype.is_floating_point or dtype.is_complex:
        exact = dtype if dtype in {torch.float64, torch.complex64, torch.complex128} else torch.float32
        return torch.randn(shape, generator=generator, dtype=exact).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    info = torch.iinfo(dtype)
    low, high = max(low, info.min), min(high, info.max)
    return torch.randint(low, high + 1, shape, generator=generator, dtype=dtype)


def _tensor(value: Any, what: str) -> torch.Tensor:
    """`value` in float64 or complex128 on the CPU."""
    import torch  # noqa: PLC0415

    if not isinstance(value, torch.Tensor):
        expect(
            not isinstance(value, (str, bytes)) and value is not None and value is not ...,
            f"{what} is {_described(value)}, expected a tensor or a number",
        )
        try:
            value = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            message = f"{what} is {_described(value)}, expected a tensor or a number"
            raise ExpectationError(message) from None
    detached: torch.Tensor = value.detach().cpu()
    return detached.to(torch.complex128 if detached.is_complex() else torch.float64)


def _no_grad() -> Any:
    import torch  # noqa: PLC0415

    return torch.no_grad()


def _described(value: object) -> str:
    if value is None or value is ...:
        return repr(value)
    text = repr(value)
    kind = type(value).__name__
    return f"{kind} {text if len(text) <= 60 else text[:59] + '…'}"


def _number(value: torch.Tensor) -> str:
    number = value.item()
    return f"{number:.7g}" if isinstance(number, float) else str(number)
