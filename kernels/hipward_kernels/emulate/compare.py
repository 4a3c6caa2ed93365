"""Compares the buffers of a launch with a reference; `hipward run --check` starts it.

`python -m hipward_kernels.emulate.compare` reads a request from standard input and writes an answer to standard output,
both JSON. The reference is a Python file with a function `reference`, which is called with the arguments of the launch
by name and returns the expected contents of buffers by name. A file that imports PyTorch gets tensors, any other gets
NumPy arrays.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from types import ModuleType

Array = npt.NDArray[Any]

MOST_INDICES = 1 << 16
"""Most elements of a buffer whose position is reported."""

FIRST = 8
"""Elements that are reported with their values."""

TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
"""Default `rtol` and `atol` of each dtype. Integers must be equal."""

FLOAT8_TOLERANCE = 0.125

SIZES = {"bfloat16": "u2", "float8_e4m3fn": "u1", "float8_e4m3fnuz": "u1"}
"""Dtypes that NumPy does not have, as integers of the same size."""


class UnusableReferenceError(Exception):
    """The reference cannot be used; the message states the reason."""


def main() -> None:
    """Entry point."""
    request = json.load(sys.stdin)
    try:
        # The reference may print.
        with contextlib.redirect_stdout(sys.stderr):
            answer = compare(request)
    except UnusableReferenceError as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


def compare(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: the names of the compared buffers, and the differences.

    Raises:
        UnusableReferenceError: The reference cannot be used.
    """
    module = _load(Path(request["reference"]))
    function = getattr(module, "reference", None)
    if not callable(function):
        raise UnusableReferenceError("it has no function `reference`")
    tensors = hasattr(module, "torch")
    described = {argument["name"]: argument for argument in request["arguments"]}
    arguments = {name: _value(argument, "before", tensors=tensors) for name, argument in described.items()}
    try:
        returned = function(**arguments)
    except Exception as error:
        raise UnusableReferenceError(f"`reference` raised an exception:\n{_trace(error)}") from error
    if not isinstance(returned, dict) or not returned:
        raise UnusableReferenceError(
            "`reference` must return a dict of expected contents by argument, such as {'y': x + 1}; "
            f"it returned {type(returned).__name__}"
        )
    differences = []
    for name, expected in returned.items():
        argument = described.get(name)
        if argument is None or argument["after"] is None:
            buffers = ", ".join(name for name, argument in described.items() if argument["after"] is not None)
            raise UnusableReferenceError(
                f"`reference` returned {name!r}, which is not a buffer; the buffers are {buffers}"
            )
        result = _numbers(argument, "after")
        found = _difference(argument, result, _expected(expected, argument), request)
        if found is not None:
            differences.append(found)
    return {"compared": list(returned), "differences": differences}


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", path)
    if spec is None or spec.loader is None:
        raise UnusableReferenceError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UnusableReferenceError(f"importing it raised an exception:\n{_trace(error)}") from error
    return module


def _trace(error: Exception) -> str:
    """The exception, with the frames of the reference only."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((__file__, "<frozen")):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).strip()


def _value(argument: dict[str, Any], when: str, *, tensors: bool) -> Any:
    """An argument of the reference: an array, a tensor, a number, or the bytes of a structure."""
    data = Path(argument[when]).read_bytes()
    kind, shape = argument["dtype"], argument["shape"]
    if kind is None:
        return data
    if argument["after"] is None:
        return _decoded(kind, data)[0].item()
    if not tensors:
        return _decoded(kind, data).reshape(shape)
    import torch  # noqa: PLC0415 - the reference imported it

    bytes_ = torch.from_numpy(np.frombuffer(data, np.uint8).copy())
    return bytes_.view(getattr(torch, kind)).reshape(shape)


def _decoded(kind: str, data: bytes) -> Array:
    """Numbers as NumPy has them; bfloat16 becomes float32."""
    raw: Array = np.frombuffer(data, SIZES.get(kind, kind)).copy()
    if kind == "bfloat16":
        widened: Array = (raw.astype(np.uint32) << 16).view(np.float32)
        return widened
    if kind.startswith("float8"):
        import torch  # noqa: PLC0415 - NumPy has no such type

        converted: Array = torch.from_numpy(raw).view(getattr(torch, kind)).float().numpy()
        return converted
    return raw


def _numbers(argument: dict[str, Any], when: str) -> Array:
    data = Path(argument[when]).read_bytes()
    numbers: Array = _decoded(argument["dtype"], data).reshape(argument["shape"])
    return numbers


def _expected(value: Any, argument: dict[str, Any]) -> Array:
    """What the reference returned for a buffer, as an array of its shape."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.double() if value.is_floating_point() else value
    try:
        array: Array = np.asarray(value)
        return np.broadcast_to(array, tuple(argument["shape"]))
    except ValueError as error:
        name, shape = argument["name"], tuple(argument["shape"])
        raise UnusableReferenceError(
            f"`reference` returned {name!r} with the shape {tuple(np.shape(value))}; the buffer has {shape}"
        ) from error


def _difference(
    argument: dict[str, Any], result: Array, expected: Array, request: dict[str, Any]
) -> dict[str, Any] | None:
    kind = argument["dtype"]
    default = TOLERANCES.get(kind, FLOAT8_TOLERANCE if kind.startswith("float8") else 0.0)
    rtol = default if request["rtol"] is None else request["rtol"]
    atol = default if request["atol"] is None else request["atol"]
    if kind.startswith(("int", "uint", "bool")) and not (rtol or atol):
        differs = (result != expected).reshape(-1)
    else:
        close = np.isclose(result.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True)
        differs = ~close.reshape(-1)
    indices = np.flatnonzero(differs)
    if not indices.size:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        distances = np.abs(result.astype(np.float64) - expected.astype(np.float64)).reshape(-1)[indices]
    finite = distances[np.isfinite(distances)]
    first = [
        [_position(index, result.shape), _shown(result.flat[index]), _shown(expected.flat[index])]
        for index in indices[:FIRST].tolist()
    ]
    return {
        "name": argument["name"],
        "elements": int(result.size),
        "different": int(indices.size),
        "largest": float(finite.max()) if finite.size else 0.0,
        "rtol": float(rtol),
        "atol": float(atol),
        "indices": indices[:MOST_INDICES].tolist(),
        "first": first,
    }


def _position(index: int, shape: tuple[int, ...]) -> str:
    return ", ".join(str(int(part)) for part in np.unravel_index(index, shape or (1,)))


def _shown(value: Any) -> str:
    number = value.item()
    if isinstance(number, float):
        return f"{number:.6g}" if math.isfinite(number) else str(number)
    return str(number)


if __name__ == "__main__":
    main()
