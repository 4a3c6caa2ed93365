"""The argument types of a Triton kernel: those of the request, and guesses for the rest.

A kernel's source does not state whether `x` is a pointer or a number, but its use does: the address of a load or store
is a pointer plus offsets.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

from hipward_kernels.compile.answer import Argument
from hipward_kernels.compile.failure import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping

GUESSED_POINTER = "*bf16"
GUESSED_NUMBER = "i32:16"
GUESSED_REAL = "fp32"

_REALS = re.compile(r"(^|_)(eps|epsilon|scale|alpha|beta|p|prob|lr|theta|momentum|decay|rate)($|_)")
_TYPE = re.compile(r"\*?k?(i1|u?i(8|16|32|64)|fp(16|32|64)|bf16|fp8e4nv|fp8e4b8|fp8e4b15|fp8e5|fp8e5b16)(:(1|16))?")
_MEMORY = {"load", "store", "make_block_ptr", "make_tensor_descriptor"}

_TYPES_HELP = "Types are written as Triton does: *bf16, *fp32, i32, i32:16, fp32; anything else is a constant's value."


def signature(kernel: Any, given: Mapping[str, Any], tuned: Mapping[str, Any]) -> list[Argument]:
    """Type or value of each argument, in order.

    Args:
        kernel: A function under `triton.jit`.
        given: Types and values of the request.
        tuned: Constants of the kernel's first autotune configuration.

    Raises:
        CompileError: A name or a type is unknown, or a constant has no value.
    """
    names = [parameter.name for parameter in kernel.params]
    if unknown := [name for name in given if name not in names]:
        raise CompileError(
            "signature",
            f"{kernel.fn.__name__} has no argument {', '.join(unknown)}; it has {', '.join(names)}.",
            "Give types and values for the kernel's own arguments.",
        )
    pointers = _pointers(kernel.fn)
    return [_argument(parameter, given, tuned, pointers) for parameter in kernel.params]


def _argument(parameter: Any, given: Mapping[str, Any], tuned: Mapping[str, Any], pointers: set[str]) -> Argument:
    name: str = parameter.name
    if parameter.is_constexpr:
        return _constant(parameter, given, tuned)
    if name in given:
        value = given[name]
        if not isinstance(value, str):
            return Argument(name, "constexpr", value, "request")
        return Argument(name, _checked(name, value), None, "request")
    annotation = str(getattr(parameter, "annotation", "") or "").strip("'\"")
    if _TYPE.fullmatch(annotation):
        return Argument(name, annotation, None, "annotation")
    if parameter.has_default and isinstance(parameter.default, (int, float, type(None))):
        return Argument(name, "constexpr", parameter.default, "default")
    guess = GUESSED_REAL if _REALS.search(name) else GUESSED_NUMBER
    return Argument(name, GUESSED_POINTER if name in pointers else guess, None, "guess")


def _constant(parameter: Any, given: Mapping[str, Any], tuned: Mapping[str, Any]) -> Argument:
    name: str = parameter.name
    if name in given:
        return Argument(name, "constexpr", given[name], "request")
    if name in tuned:
        return Argument(name, "constexpr", tuned[name], "autotune")
    if parameter.has_default:
        return Argument(name, "constexpr", parameter.default, "default")
    raise CompileError(
        "signature",
        f"{name} is a tl.constexpr without a default, so its value must be given.",
        f'Add it to arguments, for example {{"{name}": 1024}}.',
    )


def _checked(name: str, kind: str) -> str:
    if not _TYPE.fullmatch(kind):
        raise CompileError("signature", f"{kind!r} is not a type; the argument is {name}.", _TYPES_HELP)
    return kind


def divisible(kind: str) -> bool:
    """Whether a type is divisible by 16: pointers without the suffix `:1`, and numbers with `:16`."""
    return not kind.endswith(":1") if kind.startswith("*") else kind.endswith(":16")


def _pointers(function: Any) -> set[str]:
    """Arguments that are the base of an address of a load or store."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    bases: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if (base := _base(node.value)) and base != node.targets[0].id:
                bases.setdefault(node.targets[0].id, base)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            name = node.func.attr
            if (name in _MEMORY or name.startswith("atomic_")) and (base := _base(node.args[0])):
                found.add(base)
    for name in list(found):
        seen = {name}
        while (name := bases.get(name, name)) not in seen:
            seen.add(name)
        found |= seen
    return found


def _base(node: ast.expr) -> str | None:
    """The leftmost name of a sum, which is the base of an address."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        node = node.left
    return node.id if isinstance(node, ast.Name) else None
