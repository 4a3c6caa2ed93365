# fails: case_member_alias
"""Finds the calls of a qualified name in Python source, under any alias."""

import ast


def bound_names(tree):
    """The names that imports bind, each with its qualified name."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # hole: module
                # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
                if alias.asname:
                    names[alias.asname] = alias.name
                else:
                    first = alias.name.partition(".")[0]
                    names[first] = first
                # end: module
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                # hole: member
                names[alias.name] = f"{node.module}.{alias.name}"
                # end: member
    return names


def qualified(expression, names):
    """`a.b.c` as text with its first name resolved, or None if the first name is not imported."""
    parts = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name) or expression.id not in names:
        return None
    return ".".join([names[expression.id], *reversed(parts)])


def calls(source, name):
    """The lines of the calls of `name`, in order."""
    tree = ast.parse(source)
    names = bound_names(tree)
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and qualified(node.func, names) == name]
    return sorted(found)
