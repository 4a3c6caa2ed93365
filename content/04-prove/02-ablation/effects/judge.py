"""Cases for the effects of switches."""

import itertools
import math

from hipward_kernels.exercise import expect, expect_close

# NVIDIA H200, TinyLlama medium, 16 × 512, bfloat16: low, median and high in ms. q: fused QKV, f: flash
# attention, g: fused gate-up, c: compile.
PAGE = {
    "": (67.23, 67.30, 67.35), "q": (67.02, 67.04, 67.11), "f": (43.06, 43.10, 43.13),
    "g": (70.04, 70.09, 70.12), "c": (29.47, 29.60, 29.74), "qf": (42.34, 42.40, 42.43),
    "qg": (69.82, 69.84, 69.95), "qc": (28.75, 28.84, 28.88), "fg": (45.90, 45.97, 46.00),
    "fc": (25.18, 25.36, 25.70), "gc": (30.00, 30.08, 30.31), "qfg": (45.22, 45.28, 45.29),
    "qfc": (24.56, 24.85, 25.22), "qgc": (29.13, 29.33, 29.59), "fgc": (27.09, 28.16, 29.88),
    "qfgc": (25.07, 25.38, 25.60),
}  # fmt: skip
# Quotients of float64 numbers.
EXACT = 1e-9


def page(answer):
    return {frozenset(names): answer.Timing(*timing) for names, timing in PAGE.items()}


def made_up(answer, random, switches, effects, half=0.001):
    """Times of independent switches, in an order that tells nothing."""
    base = random.uniform(5, 80)
    sets = [frozenset(s) for n in range(len(switches) + 1) for s in itertools.combinations(switches, n)]
    random.shuffle(sets)
    times = {}
    for names in sets:
        median = base / math.prod(effects[name] for name in names)
        times[names] = answer.Timing(median * (1 - half), median, median * (1 + half))
    return times


def close(name, got, want):
    try:
        expect_close(float(got), want, rtol=EXACT)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None


def case_on_top(answer, random):
    """What each switch of the page is worth on top of the others"""
    times = page(answer)
    for name in "qfgc":
        rest = "".join(sorted(set("qfgc") - {name}, key="qfgc".index))
        close(f"on top, {name}", answer.on_top(times, name), PAGE[rest][1] / PAGE["qfgc"][1])


def case_independent(answer, random):
    """Independent switches: alone, on top and on average are equal"""
    switches = random.sample(["alpha", "beta", "gamma", "delta"], random.choice([2, 3, 4]))
    effects = {name: random.uniform(0.5, 3) for name in switches}
    times = made_up(answer, random, switches, effects)
    for name in switches:
        close(f"average, {name}", answer.average(times, name), effects[name])
        close(f"on top, {name}", answer.on_top(times, name), effects[name])
    close("interaction", answer.interaction(times, *switches[:2]), 1.0)


def case_average(answer, random):
    """The average of a switch that helps once and hurts once"""
    a, b, factor = "first", "second", random.uniform(1.5, 4)
    times = {frozenset(): 10.0, frozenset({a}): 10.0 / factor, frozenset({b}): 8.0, frozenset({a, b}): 8.0 * factor}
    times = {names: answer.Timing(ms, ms, ms) for names, ms in times.items()}
    close("average", answer.average(times, a), 1.0)


def case_impossible(answer, random):
    """A combination that cannot run has no time"""
    switches = ["x", "y", "z"]
    effects = {name: random.uniform(1.1, 3) for name in switches}
    times = made_up(answer, random, switches, effects)
    del times[frozenset("xy")]
    for name in switches:
        close(f"average, {name}", answer.average(times, name), effects[name])


def case_interaction(answer, random):
    """Flash attention and compile on the page"""
    want = (67.30 / 25.36) / ((67.30 / 43.10) * (67.30 / 29.60))
    close("interaction", answer.interaction(page(answer), "f", "c"), want)


def case_simplest(answer, random):
    """The simplest combination whose interval overlaps that of the fastest, on the page"""
    found = answer.simplest(page(answer))
    expect(found == frozenset("fc"), f"the simplest is {sorted(found)}, expected flash attention and compile")


def case_clear_winner(answer, random):
    """All switches together are faster than all others"""
    switches = ["x", "y", "z"]
    times = made_up(answer, random, switches, {name: random.uniform(1.1, 3) for name in switches})
    found = answer.simplest(times)
    expect(found == frozenset(switches), f"the simplest is {sorted(found)}, expected {switches}")


def case_two_of_equal_size(answer, random):
    """Two equally simple combinations: the faster one"""
    fast, slow = random.sample(["one", "two"], 2)
    times = {frozenset(): (90, 91, 92), frozenset({slow}): (10.0, 10.2, 10.4), frozenset({fast}): (9.9, 10.1, 10.3)}
    times[frozenset({"one", "two"})] = (9.8, 10.0, 10.2)
    times = {names: answer.Timing(*timing) for names, timing in times.items()}
    found = answer.simplest(times)
    expect(found == {fast}, f"the simplest is {sorted(found)}, expected {fast}")
