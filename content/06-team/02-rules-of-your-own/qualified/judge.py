"""Calls of a qualified name, in sources with new names in each run."""

from hipward_kernels.exercise import expect


def names(random):
    """A module, a function and an alias, different in each run."""
    library = random.choice(["acme", "corp", "fastlib"])
    function = random.choice(["softmax", "norm", "gelu"])
    alias = random.choice("abcdefg") + str(random.randrange(10, 99))
    return library, function, alias


def check(answer, source, name, expected):
    got = list(answer.calls(source, name))
    expect(got == expected, f"calls of {name}: got the lines {got}, expected {expected}, in:\n{source}")


def case_plain(answer, random):
    """import acme, then acme.softmax(x)"""
    library, function, _ = names(random)
    blank = "\n" * random.randrange(4)
    source = f"import {library}\n{blank}y = {library}.{function}(x)\n"
    check(answer, source, f"{library}.{function}", [2 + len(blank)])


def case_module_alias(answer, random):
    """import acme as a"""
    library, function, alias = names(random)
    source = f"import {library} as {alias}\ny = 1\nz = {alias}.{function}(y) + {alias}.other(y)\n"
    check(answer, source, f"{library}.{function}", [3])


def case_member_alias(answer, random):
    """from acme import softmax as s"""
    library, function, alias = names(random)
    source = f"from {library} import other, {function} as {alias}\ny = other(1)\nz = {alias}({alias}(y))\n"
    check(answer, source, f"{library}.{function}", [3, 3])


def case_submodule(answer, random):
    """import acme.nn, and import acme.nn as n"""
    library, function, alias = names(random)
    source = f"import {library}.nn\nimport {library}.nn as {alias}\n{library}.nn.{function}(1)\n{alias}.{function}(2)\n"
    check(answer, source, f"{library}.nn.{function}", [3, 4])


def case_text(answer, random):
    """A string and a comment are no calls"""
    library, function, _ = names(random)
    source = f'import {library}\ntext = "{library}.{function}(x)"  # {library}.{function}(x)\n{library}.{function}(text)\n'
    check(answer, source, f"{library}.{function}", [3])


def case_not_imported(answer, random):
    """A function of the same name that is not the library's"""
    library, function, _ = names(random)
    source = f"from {library} import other\ndef {function}(x):\n    return x\n{function}(1)\nother(2)\n"
    check(answer, source, f"{library}.{function}", [])
