"""Splits a snippet into the statements before ModelNew exists and those that need it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MODEL_NEW = "ModelNew"


def stages(tree: ast.Module) -> tuple[ast.Module, ast.Module]:
    """The statements of a snippet that do not need ModelNew when they run, and those that define it or need it.

    Functions may use it, because their code runs when they are called.
    """
    first: list[ast.stmt] = []
    second: list[ast.stmt] = []
    late = {MODEL_NEW}
    for node in tree.body:
        used, defined = _names(node)
        if late & used or MODEL_NEW in defined:
            second.append(node)
            late |= defined
        else:
            first.append(node)
    # They apply to a whole file.
    futures = [node for node in first if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    return ast.Module(first, tree.type_ignores), ast.Module([*futures, *second] if second else [], [])


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a statement reads when it runs, and those that it defines."""
    if isinstance(node, ast.Name):
        return ({node.id}, set()) if isinstance(node.ctx, ast.Load) else (set(), {node.id})
    if isinstance(node, ast.alias):
        return set(), {node.asname or node.name}
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    own: set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = [*node.decorator_list, node.args, *filter(None, [node.returns])]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        own = {node.name}
    elif isinstance(node, ast.Lambda):
        parts = [node.args]
    used: set[str] = set()
    defined: set[str] = set()
    for part in parts:
        reads, binds = _names(part)
        used |= reads
        defined |= binds
    return used, own or defined
