"""The snippet contract: `class Model(nn.Module)`, `get_inputs()`, `get_init_inputs()`, optionally `ModelNew`.

Loads a snippet and calls its parts. Every error of the snippet is raised as a `JobFailedError`.
"""

from __future__ import annotations

import ast
import linecache
import random
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hipward_kernels.harness.deadline import OutOfTimeError
from hipward_kernels.harness.failure import JobFailedError, in_words
from hipward_kernels.harness.lines import Failure
from hipward_kernels.harness.stages import stages
from hipward_kernels.numerics.nested import flatten, unsupported_form

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hipward_kernels.harness.lines import FailureCode

WEIGHT_SEED = 42
"""Seed for the weights of `Model` and `ModelNew`, so that equal constructors create equal weights."""

# Bound before a snippet is imported, which could replace them.
_seed_python, _seed_torch = random.seed, torch.manual_seed
_python_state, _torch_state = random.getstate, torch.get_rng_state

_SKELETON_HELP = (
    "A snippet needs `class Model(nn.Module)`, `get_inputs()` that returns a list of forward's arguments, and "
    "`get_init_inputs()` that returns a list of Model's arguments (empty when it takes none)."
)


@dataclass
class Snippet:
    """A loaded snippet."""

    path: Path
    module: types.ModuleType
    device: torch.device
    inputs_on_device: bool = True
    """Whether `get_inputs` is called with the device as the default device; False after that has failed."""

    @property
    def has_model_new(self) -> bool:
        """Whether the snippet has an optimized version."""
        return hasattr(self.module, "ModelNew")

    def build(self, name: str) -> nn.Module:
        """Constructs `Model` or `ModelNew` on the device, in evaluation mode."""
        arguments = self._arguments("get_init_inputs")
        seed_everything(WEIGHT_SEED)
        model = self._call(
            "init-error",
            f"{name}.__init__",
            lambda: getattr(self.module, name)(*arguments).to(self.device).eval(),
        )
        if not isinstance(model, nn.Module):
            raise JobFailedError(_contract(f"{name} returned a {type(model).__name__}, not an nn.Module"))
        return model

    def inputs(self, seed: int) -> list[Any]:
        """The arguments of one call of `forward`, created with `seed` on the device or moved to it."""
        arguments = self._inputs_made_on_device(seed)
        if arguments is None:
            seed_everything(seed)
            arguments = self._arguments("get_inputs")
        for name, value in flatten(arguments).items():
            if isinstance(value, Tensor) and (form := unsupported_form(value)):
                raise JobFailedError(
                    Failure(
                        "contract-missing",
                        f"get_inputs() returned a {form} tensor as argument {name}; arguments must be dense tensors.",
                        "Create dense tensors in get_inputs, and convert them in forward.",
                    )
                )
        moved: list[Any] = self._call(
            "contract-missing", "get_inputs", lambda: [to_device(a, self.device) for a in arguments]
        )
        return moved

    def _inputs_made_on_device(self, seed: int) -> list[Any] | None:
        """The result of `get_inputs` with the device as PyTorch's default device, or None if that fails.

        A GPU creates large random tensors much faster than a CPU. `get_inputs` may need the CPU, for a generator or for
        NumPy; then it is called without a default device from now on.
        """
        if self.device.type == "cpu" or not self.inputs_on_device:
            return None
        seed_everything(seed)
        try:
            with self.device:
                return self._arguments("get_inputs")
        except JobFailedError:
            self.inputs_on_device = False
            return None

    def failure(self, error: BaseException, code: FailureCode, doing: str) -> Failure:
        """Describes an exception of the snippet's code."""
        return in_words(error, code, doing, self.path, self.device.type)

    def _arguments(self, name: str) -> list[Any]:
        value = self._call("contract-missing", name, getattr(self.module, name))
        if not isinstance(value, (list, tuple)):
            kind = "Tensor" if isinstance(value, Tensor) else type(value).__name__
            raise JobFailedError(
                Failure(
                    "contract-missing",
                    f"{name}() returned a {kind}; it must return a list.",
                    "Put the arguments into a list, even when there is one: `return [x]`.",
                )
            )
        return list(value)

    def _call(self, code: FailureCode, doing: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except OutOfTimeError as error:
            error.doing = doing
            raise
        except BaseException as error:
            raise JobFailedError(self.failure(error, code, doing)) from error


def load(
    code: str, directory: Path, device: torch.device, without_model_new: Callable[[Snippet], None] | None = None
) -> Snippet:
    """Imports a snippet as the module `snippet`, from a file in `directory`.

    `without_model_new` is called before the statements that define or use ModelNew run, if there are any.
    """
    path = directory / "snippet.py"
    try:
        tree = ast.parse(code, str(path))
        parts = [tree] if without_model_new is None else [part for part in stages(tree) if part.body]
        compiled = [compile(part, str(path), "exec", dont_inherit=True) for part in parts]
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise JobFailedError(_syntax_error(error)) from error
    # A real file, so that inspect, torch.compile and Triton can read the source.
    path.write_text(code, encoding="utf-8", newline="")
    linecache.checkcache(str(path))
    module = types.ModuleType("snippet")
    module.__file__ = str(path)
    sys.modules["snippet"] = module
    snippet = Snippet(path, module, device)
    try:
        for number, part in enumerate(compiled):
            if number and without_model_new:
                without_model_new(snippet)
            exec(part, module.__dict__)  # noqa: S102 - running the snippet is what this process is for
    except OutOfTimeError:
        raise
    except BaseException as error:
        raise JobFailedError(in_words(error, "import-error", "Importing the snippet", path, device.type)) from error
    _check_parts(module)
    return snippet


def _check_parts(module: types.ModuleType) -> None:
    missing = [name for name in ("Model", "get_inputs", "get_init_inputs") if not hasattr(module, name)]
    if missing:
        raise JobFailedError(_contract(f"The snippet has no {' and no '.join(missing)}"))
    for name in ("Model", "ModelNew"):
        part = getattr(module, name, nn.Module)
        if not (isinstance(part, type) and issubclass(part, nn.Module)):
            raise JobFailedError(_contract(f"{name} is not a class derived from torch.nn.Module"))
    for name in ("get_inputs", "get_init_inputs"):
        if not callable(getattr(module, name)):
            raise JobFailedError(_contract(f"{name} is not a function"))


def _contract(message: str) -> Failure:
    return Failure("contract-missing", f"{message}.", _SKELETON_HELP)


def _syntax_error(error: Exception) -> Failure:
    if not isinstance(error, SyntaxError) or not error.lineno:
        # Null bytes, lone surrogates, or nesting that is too deep for the parser.
        return Failure(
            "syntax-error",
            f"Python cannot parse this code: {error if str(error) else type(error).__name__}.",
            "Paste the plain text of a Python file.",
        )
    shown = None
    if error.text:
        column = max((error.offset or 1) - 1, 0)
        shown = f"{error.text.rstrip()}\n{' ' * column}^"
    return Failure(
        "syntax-error",
        f"Line {error.lineno}: {error.msg}.",
        "The code is not valid Python. Check that it was pasted completely, with its indentation.",
        shown,
    )


def seed_everything(seed: int) -> None:
    """Seeds every random number generator that a snippet is likely to use."""
    _seed_python(seed)
    _seed_torch(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)


def generator_states(device: torch.device) -> list[Any]:
    """The states of these generators, and of the device's; equal states mean that no numbers were drawn in between."""
    states: list[Any] = [_python_state(), _torch_state().tolist()]
    if device.type != "cpu":
        states.append(torch.cuda.get_rng_state(device).tolist())
    if numpy := sys.modules.get("numpy"):
        # Of another generator it is no tuple.
        states.append(repr(numpy.random.get_state()))
    return states


def to_device(value: Any, device: torch.device) -> Any:
    """`value` with every tensor in it moved to `device`."""
    if isinstance(value, (Tensor, nn.Module)):
        return value.to(device)
    if type(value) in (list, tuple):
        return type(value)(to_device(item, device) for item in value)
    if type(value) is dict:
        return {key: to_device(item, device) for key, item in value.items()}
    return value
