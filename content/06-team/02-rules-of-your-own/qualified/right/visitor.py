"""Another way: a visitor that collects names and calls in one pass each."""

import ast


class Imports(ast.NodeVisitor):
    def __init__(self):
        self.names = {}

    def visit_Import(self, node):
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            self.names[bound] = alias.name if alias.asname else bound

    def visit_ImportFrom(self, node):
        if node.module and node.level == 0:
            self.names |= {alias.asname or alias.name: node.module + "." + alias.name for alias in node.names}


def calls(source, name):
    tree = ast.parse(source)
    imports = Imports()
    imports.visit(tree)
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first, dot, rest = ast.unparse(node.func).partition(".")
        if first in imports.names and imports.names[first] + dot + rest == name:
            lines.append(node.lineno)
    return sorted(lines)
