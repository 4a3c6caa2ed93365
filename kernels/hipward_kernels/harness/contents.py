"""Random contents like those of `get_inputs`, written on the device into existing tensors.

`get_inputs` may be slow: it may use NumPy or a generator of the CPU, and its tensors are then copied to the GPU. Calls
beside those of the precision gate need other contents, but not those of the author. So two results of `get_inputs` are
compared: a tensor that is equal in both is constant (a mask, lengths, a scalar), and one whose elements look like
independent draws from a uniform or normal distribution is filled from that distribution. All other tensors have a
structure that a variant may rely on (sorted, triangular, symmetric, normalized, one-hot, related to another tensor);
then nothing is generated.
"""

from __future__ import annotations

import itertools
import math
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.numerics.nested import cloned, flatten, is_plain, same_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEWEST = 256
"""Fewest elements whose distribution can be recognized."""
LOOKED_AT = 1 << 22
"""Most elements of a tensor that are looked at: its first rows, and for a matrix its first rows and columns."""
SORTED_ELEMENTS = 1 << 16
"""Elements whose distribution is compared with the assumed one."""

SIGMAS = 6.0
"""Standard errors by which a statistic may differ from that of independent draws."""
KOLMOGOROV = 2.2
"""Critical value of the Kolmogorov-Smirnov statistic times sqrt(n): exceeded by chance once in 8000 tensors."""
FEWEST_GROUPS = 16
PARALLEL = 1 << 22
"""Elements of a tensor from which on several threads of a processor fill it: PyTorch uses one, which may take ten times
as long as the call that is timed."""
ROUNDED = 0.004
"""Difference of the statistic that rounding to a 16-bit dtype explains."""

_UNIFORM_KURTOSIS, _NORMAL_KURTOSIS = 1.8, 3.0


@dataclass(frozen=True)
class _Fill:
    """How one tensor is filled. Without `write`, it is constant."""

    write: Callable[[Tensor, torch.Generator], Any] | None


class Contents:
    """Writes new contents into sets of arguments."""

    def __init__(self, template: list[Any], fills: dict[str, _Fill], device: torch.device) -> None:
        """`template` is a result of `get_inputs`, whose constant parts are used in all sets."""
        self._template = template
        self._fills = fills
        # A generator cannot be used by several threads.
        self._generators = [torch.Generator(device) for _ in range(_threads(device))]
        for generator in self._generators:
            generator.manual_seed(secrets.randbits(62))

    def made(self) -> list[Any]:
        """A new set of arguments."""
        arguments: list[Any] = cloned(self._template)
        self.write(arguments)
        return arguments

    def write(self, arguments: Sequence[Any]) -> None:
        """Overwrites the random tensors of a set that `made` or `get_inputs` has returned."""
        with torch.no_grad():
            for name, value in flatten(list(arguments)).items():
                fill = self._fills[name].write if name in self._fills else None
                if fill is not None:
                    self._fill(value, fill)

    def _fill(self, x: Tensor, fill: Callable[[Tensor, torch.Generator], Any]) -> None:
        if len(self._generators) == 1 or x.numel() < PARALLEL or not x.is_contiguous():
            fill(x, self._generators[0])
            return
        parts = x.view(-1).chunk(len(self._generators))
        with ThreadPoolExecutor(len(parts)) as threads:
            # Exceptions are raised here.
            list(threads.map(torch.no_grad()(fill), parts, self._generators))


def _threads(device: torch.device) -> int:
    return torch.get_num_threads() if device.type == "cpu" else 1


def recognized(first: list[Any], second: list[Any], device: torch.device) -> Contents | None:
    """The distributions of two results of `get_inputs` with different seeds; None if one is not recognized."""
    one, other = flatten(first), flatten(second)
    if one.keys() != other.keys():
        return None
    fills: dict[str, _Fill] = {}
    random: list[tuple[Tensor, Tensor]] = []
    for name, a in one.items():
        b = other[name]
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            if isinstance(a, Tensor) or isinstance(b, Tensor) or (a is not b and a != b):
                return None
            continue
        if not is_plain(a) or not is_plain(b) or a.is_complex() or a.shape != b.shape or a.dtype != b.dtype:
            return None
        if same_bits(a, b):
            fills[name] = _Fill(None)
            continue
        fill = _fill(a, b)
        if fill is None:
            return None
        fills[name] = fill
        random.append((a, b))
    if not random or any(_related(a, b) for (a, _), (b, _) in itertools.combinations(random, 2)):
        return None
    return Contents(first, fills, device)


def _fill(a: Tensor, b: Tensor) -> _Fill | None:
    """How a tensor is filled that was `a` with one seed and `b` with another."""
    if a.numel() < FEWEST or (a.dtype.itemsize == 1 and a.dtype.is_floating_point):
        return None
    looked = [_looked_at(x) for x in (a, b)]
    low = min(float(x.min()) for x in looked)
    high = max(float(x.max()) for x in looked)
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low or max(-low, high) > 2**24:
        return None
    if a.dtype == torch.bool:
        return _bernoulli(looked)
    return _normal_or_uniform(looked, low, high) if a.is_floating_point() else _integers(looked, int(low), int(high))


def _bernoulli(looked: list[Tensor]) -> _Fill | None:
    share = float(looked[0].mean())
    if not all(_independent(x, share, math.sqrt(share * (1 - share)), None) for x in looked):
        return None
    return _Fill(lambda x, generator: x.bernoulli_(share, generator=generator))


def _integers(looked: list[Tensor], low: int, high: int) -> _Fill | None:
    count = high - low + 1
    spread = math.sqrt((count**2 - 1) / 12)
    if torch.equal(*(x.flatten().sort().values for x in looked)):
        # Permutations of the same numbers.
        return None
    for x in looked:
        if not _independent(x, (low + high) / 2, spread, None):
            return None
        if not _distributed(x, lambda v: (v - low + 1) / count, discrete=True):
            return None
    return _Fill(lambda x, generator: x.random_(low, high + 1, generator=generator))


def _normal_or_uniform(looked: list[Tensor], low: float, high: float) -> _Fill | None:
    width = high - low
    if all(
        _independent(x, (low + high) / 2, width / math.sqrt(12), _UNIFORM_KURTOSIS)
        and _distributed(x, lambda v: (v - low) / width)
        for x in looked
    ):
        return _Fill(lambda x, generator: x.uniform_(low, high, generator=generator))
    mean, std = float(looked[0].mean()), float(looked[0].std())
    if std > 0 and all(
        _independent(x, mean, std, _NORMAL_KURTOSIS)
        and _distributed(x, lambda v: 0.5 * (1 + torch.erf((v - mean) / (std * math.sqrt(2)))))
        for x in looked
    ):
        return _Fill(lambda x, generator: x.normal_(mean, std, generator=generator))
    return None


def _looked_at(x: Tensor) -> Tensor:
    """The elements of `x` that are looked at, as float32."""
    x = x.detach()
    while x.numel() > LOOKED_AT:
        # The larger of the first and the last dimension, so that a matrix stays square.
        at = 0 if x.shape[0] >= x.shape[-1] else x.dim() - 1
        if x.shape[at] == 1:
            at = max(range(x.dim()), key=lambda d: x.shape[d])
        x = x.narrow(at, 0, (x.shape[at] + 1) // 2)
    return x.float()


def _independent(x: Tensor, mean: float, std: float, kurtosis: float | None) -> bool:
    """Whether the elements have this mean and deviation and depend neither on their position nor on each other."""
    z = (x - mean) / std
    # Twice the error, because mean and deviation may have been measured on another tensor.
    error = 2 * SIGMAS * math.sqrt(2 / z.numel())
    if abs(float(z.mean())) > error or abs(float((z * z).mean()) - 1) > error:
        return False
    measures = [(z, 1.0)] if kurtosis is None else [(z, 1.0), (z * z - 1, kurtosis - 1)]
    dimensions = [d for d, size in enumerate(z.shape) if size > 1]
    if any(_neighbours_related(z, d) or any(_groups_differ(*m, d) for m in measures) for d in dimensions):
        return False
    return z.dim() < 2 or z.shape[-1] != z.shape[-2] or not _mirrored(z)


def _neighbours_related(z: Tensor, dimension: int) -> bool:
    size = z.shape[dimension]
    first, second = z.narrow(dimension, 0, size - 1), z.narrow(dimension, 1, size - 1)
    return abs(float((first * second).mean())) > SIGMAS / math.sqrt(first.numel())


def _groups_differ(measure: Tensor, variance: float, dimension: int) -> bool:
    """Whether the means along a dimension vary more or less than those of independent draws."""
    size = measure.shape[dimension]
    groups = measure.numel() // size
    if groups < FEWEST_GROUPS:
        return False
    means = measure.mean(dimension)
    found = float((means * means).mean()) * size / variance
    # The cube root of a chi-square variable over its degrees of freedom is nearly normal (Wilson and Hilferty 1931).
    error = math.sqrt((2 + 10 / size) / (9 * groups))
    difference: float = abs(found ** (1 / 3) - 1 + error**2)
    return difference > SIGMAS * error


def _mirrored(z: Tensor) -> bool:
    """Whether a matrix is related to its transpose."""
    size = z.shape[-1]
    above = torch.triu(torch.ones(size, size, dtype=torch.bool, device=z.device), 1)
    products = (z * z.transpose(-1, -2))[..., above]
    return products.numel() > 0 and abs(float(products.mean())) > SIGMAS / math.sqrt(products.numel())


def _distributed(x: Tensor, cumulative: Callable[[Tensor], Tensor], *, discrete: bool = False) -> bool:
    """Kolmogorov-Smirnov test of a part of the elements."""
    flat = x.reshape(-1)
    part = flat[:: max(flat.numel() // SORTED_ELEMENTS, 1)][:SORTED_ELEMENTS].double().sort().values
    n = part.numel()
    expected = cumulative(part).clamp(0, 1)
    rank = torch.arange(1, n + 1, dtype=torch.float64, device=part.device) / n
    if discrete:
        # Of equal elements, the last has the rank that the distribution gives.
        last = torch.ones(n, dtype=torch.bool, device=part.device)
        last[:-1] = part[1:] != part[:-1]
        expected, rank = expected[last], rank[last]
    # A 16-bit dtype has few values.
    return float((expected - rank).abs().max()) < KOLMOGOROV / math.sqrt(n) + 1 / n + ROUNDED


def _related(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of one set share memory or are correlated."""
    if a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():
        return True
    if a.numel() != b.numel():
        return False
    one, other = (x.detach().reshape(-1)[:LOOKED_AT].float() for x in (a, b))
    one, other = one - one.mean(), other - other.mean()
    scale = float(one.norm() * other.norm())
    return scale == 0 or abs(float(one @ other)) / scale > SIGMAS / math.sqrt(one.numel())
