# fails: case_member_alias, case_text, case_not_imported
"""Searches the text, which is what a rule must not do."""


def calls(source, name):
    short = name.rpartition(".")[2]
    return [number for number, line in enumerate(source.splitlines(), 1) if short + "(" in line]
