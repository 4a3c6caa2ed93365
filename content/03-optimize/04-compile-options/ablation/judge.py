"""Options with known effects, in a new order at each run."""

from hipward_kernels.exercise import expect

DEFAULTS = {"fusion": True, "freezing": False, "tuning": False, "planning": False, "backends": "ATEN,TRITON"}


class Compiler:
    """Records what is compiled. `effects` are milliseconds added to 20; `broken` options give wrong results."""

    def __init__(self, effects, broken=()):
        self.effects, self.broken, self.checked, self.measured = effects, broken, [], []

    def passes(self, changed):
        self.checked.append(dict(changed))
        return not any(name in self.broken for name in changed)

    def measure(self, changed):
        self.measured.append(dict(changed))
        if any(name in self.broken for name in changed):
            return 1.0, 1.1  # wrong results are often fast
        middle = 20 + sum(self.effects.get(name, 0) for name in changed)
        return middle - 0.5, middle + 0.5


def run(answer, random, options, effects, broken=()):
    names = list(options)
    random.shuffle(names)
    compiler = Compiler(effects, broken)
    got = answer.ablation({name: options[name] for name in names}, DEFAULTS, compiler.passes, compiler.measure)
    return got, compiler


def same(got, expected):
    for name, verdict in expected.items():
        expect(got.get(name) == verdict, f"{name} is {got.get(name)!r}, expected {verdict!r}")


def case_effects(answer, random):
    """Clear gains and losses"""
    gain = random.uniform(2, 9)
    got, _ = run(answer, random, {"freezing": True, "tuning": True}, {"freezing": -gain, "tuning": gain})
    same(got, {"freezing": "faster", "tuning": "slower"})


def case_same(answer, random):
    """Differences within the intervals"""
    small = random.uniform(0.1, 0.9)
    got, _ = run(answer, random, {"freezing": True, "tuning": True}, {"freezing": -small, "tuning": small})
    same(got, {"freezing": "same", "tuning": "same"})


def case_default(answer, random):
    """Options that equal their default are neither compiled nor measured"""
    options = {"fusion": True, "planning": False, "backends": "ATEN,TRITON", "freezing": True}
    got, compiler = run(answer, random, options, {"freezing": -5})
    same(got, {"fusion": "default", "planning": "default", "backends": "default", "freezing": "faster"})
    seen = {name for changed in compiler.measured + compiler.checked for name in changed}
    expect(seen == {"freezing"}, f"compiled {sorted(seen)}, expected only freezing")
    got, _ = run(answer, random, {"fusion": False}, {"fusion": 4})
    same(got, {"fusion": "slower"})


def case_wrong(answer, random):
    """A wrong result is reported and not timed"""
    got, compiler = run(answer, random, {"tuning": True, "freezing": True}, {"freezing": -3}, broken=("tuning",))
    same(got, {"tuning": "wrong", "freezing": "faster"})
    expect(not any("tuning" in changed for changed in compiler.measured), "a variant with wrong results was timed")


def case_alone(answer, random):
    """Each option is changed alone"""
    options = {"freezing": True, "tuning": True, "planning": True}
    got, compiler = run(answer, random, options, {"freezing": -3, "tuning": 3, "planning": 0})
    expect(all(len(changed) <= 1 for changed in compiler.measured), "several options were changed together")
    same(got, {"freezing": "faster", "tuning": "slower", "planning": "same"})
