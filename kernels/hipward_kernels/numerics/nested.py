"""Tensors in nested lists, tuples, dictionaries and dataclasses, such as the outputs of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

FINGERPRINT_CHUNK = 1 << 12


def flatten(value: Any, name: str = "") -> dict[str, Any]:
    """Names and leaves of nested tuples, lists, dictionaries and dataclasses: `0`, `1`, `hidden.0`.

    A single tensor is named `0`. Numbers become tensors; other leaves are returned unchanged.
    """
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(str(index), item) for index, item in enumerate(value)]
    elif is_dataclass(value) and not isinstance(value, type):
        items = [(field.name, getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, (bool, int, float, complex)):
        return {name or "0": torch.tensor(value)}
    else:
        return {name or "0": value}
    return {path: leaf for key, item in items for path, leaf in flatten(item, f"{name}.{key}" if name else key).items()}


def container_types(value: Any) -> frozenset[type]:
    """Types of the containers in `value` other than list, tuple and dict themselves. Calls no method of them."""
    if type(value) in (list, tuple):
        return frozenset[type]().union(*map(container_types, value))
    if type(value) is dict:
        return frozenset[type]().union(*map(container_types, value.values()))
    is_container = isinstance(value, (Mapping, list, tuple)) or (is_dataclass(value) and not isinstance(value, type))
    return frozenset({type(value)} if is_container else ())


def tensors(value: Any) -> list[Tensor]:
    """Every tensor in nested tuples, lists, dictionaries and dataclasses."""
    return [leaf for leaf in flatten(value).values() if isinstance(leaf, Tensor)]


def operands(value: Any) -> Iterator[Tensor]:
    """The tensors among the arguments or results of an operation, which are in lists and tuples only."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from operands(item)


def unsupported_form(x: Tensor) -> str | None:
    """The form of a tensor that cannot be copied and compared element by element."""
    if x.is_nested:
        return "nested"
    if x.is_quantized:
        return "quantized"
    if x.layout != torch.strided:
        return str(x.layout).removeprefix("torch.").replace("_", " ")
    return None


def overlaps(x: Tensor) -> bool:
    """Whether several elements may share memory, as after `expand` or in the windows of `unfold`."""
    extent = 1
    for stride, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if size > 1:
            if stride < extent:
                return True
            extent += stride * (size - 1)
    return False


def cloned(value: Any) -> Any:
    """A copy of lists, tuples and dictionaries with copies of their tensors; other objects are shared."""
    if isinstance(value, Tensor):
        return value.clone(memory_format=torch.preserve_format)
    if type(value) in (list, tuple):
        return type(value)(cloned(item) for item in value)
    if type(value) is dict:
        return {key: cloned(item) for key, item in value.items()}
    return value


def copied(value: Any, kept: Any) -> Any:
    """As `cloned`, in the memory of `kept`, an earlier copy, where the forms are the same.

    On a processor, new memory for a large tensor takes several times as long as writing it.
    """
    if is_plain(value) and is_plain(kept) and _form(value) == _form(kept) and not kept.is_inference():
        with torch.no_grad():
            return kept.copy_(value)
    if type(value) in (list, tuple) and type(kept) is type(value) and len(kept) == len(value):
        return type(value)(map(copied, value, kept))
    if type(value) is dict and type(kept) is dict:
        return {key: copied(item, kept.get(key)) for key, item in value.items()}
    return cloned(value)


def is_plain(x: Any) -> bool:
    """Whether it is a tensor of no other class whose elements can be overwritten one by one."""
    return type(x) is Tensor and unsupported_form(x) is None and not overlaps(x)


def _form(x: Tensor) -> tuple[Any, ...]:
    return (x.dtype, x.device, x.shape, x.stride())


def size_in_bytes(value: Any) -> int:
    """Bytes of the tensors in `value`."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors(value))


def same_bits(first: Any, second: Any) -> bool:
    """Whether two structures contain bitwise equal tensors."""
    return all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(_bits(a), _bits(b))
        for a, b in zip(tensors(first), tensors(second), strict=True)
    )


def fingerprint(value: Any) -> tuple[Any, ...]:
    """Sums of the bits of `FINGERPRINT_CHUNK` elements each: two structures with other contents differ almost always.

    Leaves that are neither tensors nor strings are equal to nothing.
    """
    marks: list[Any] = []
    for name, leaf in flatten(value).items():
        if not isinstance(leaf, Tensor):
            marks.append((name, leaf if isinstance(leaf, (str, bytes)) else object()))
            continue
        bits = _bits(leaf.detach()).reshape(-1)
        whole = bits.numel() // FINGERPRINT_CHUNK * FINGERPRINT_CHUNK
        sums = bits[:whole].view(-1, FINGERPRINT_CHUNK).sum(1, dtype=torch.int64)
        rest = bits[whole:].sum(dtype=torch.int64)
        marks.append((name, leaf.dtype, leaf.shape, sums.tolist(), int(rest)))
    return tuple(marks)


def _bits(tensor: Tensor) -> Tensor:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if not tensor.is_floating_point():
        return tensor
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.contiguous().view(width)
