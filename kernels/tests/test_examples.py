"""Examples of the ops' docstrings, which their pages show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from hipward_kernels import ops
from hipward_kernels.dispatch.registry import Op

PARTS = ["attention", "linear", "projections", "quantization"]
OPS = [
    name
    for _, name, is_package in pkgutil.iter_modules(ops.__path__, "hipward_kernels.ops.")
    if is_package and isinstance(getattr(importlib.import_module(name), "OP", None), Op)
]


@pytest.mark.parametrize("name", [*OPS, *(f"hipward_kernels.{part}" for part in PARTS)])
def test_example_runs_and_prints_what_it_states(name: str) -> None:
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder(recurse=True).find(module) if test.examples]
    assert tests, f"{name} has no example. Add one to the docstring of its function"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    output: list[str] = []
    for test in tests:
        runner.run(test, out=output.append)
    assert not runner.summarize(verbose=False).failed, "".join(output)
