"""Cases for the climb."""

from hipward_kernels.exercise import expect, expect_close

# On one NVIDIA H200: TinyLlama medium, batch 16 × 512, bfloat16 (the table of the lesson).
PAGE = {
    (): (67.23, 67.30, 67.35),
    ("compile",): (29.47, 29.60, 29.74),
    ("compile", "flash attention"): (25.18, 25.36, 25.70),
    ("compile", "flash attention", "fused qkv"): (24.56, 24.85, 25.22),
    ("compile", "flash attention", "fused qkv", "fused gate-up"): (25.07, 25.38, 25.60),
}


def check(answer, steps, times, want_kept, remarks=None, refused=None, calls=None):
    """`times` has a (low, median, high) for each combination that a right answer measures."""
    measured = []

    def measure(names):
        names = tuple(names)
        measured.append(names)
        if refused and names and names[-1] in refused:
            raise answer.RefusedError(refused[names[-1]])
        expect(names in times, f"measured {list(names)}, which this climb never needs")
        return answer.Timing(*times[names])

    rows, kept = answer.climb(steps, measure)
    expect(kept == want_kept, f"the steps that stay are {kept}, expected {want_kept}")
    expect([row.name for row in rows] == ["baseline", *steps], "there is not one row for each step, after the baseline")
    base, below = times[()][1], ()
    for row in rows:
        remark = (refused or {}).get(row.name) or (remarks or {}).get(row.name, "")
        expect(row.remark == remark, f"the remark of {row.name} is {row.remark!r}, expected {remark!r}")
        if refused and row.name in refused:
            expect(row.speedup is None, f"{row.name} was not timed and has no speed-up")
        else:
            here = () if row is rows[0] else (*below, row.name)
            # One division of two float64 numbers.
            expect_close(row.speedup, base / times[here][1], rtol=1e-12)
            below = here if row.name in want_kept else below
    if calls is not None:
        expect(len(measured) == calls, f"measured {len(measured)} times; {calls} are enough")


def around(median, half=0.005):
    return (median * (1 - half), median, median * (1 + half))


def case_all_help(answer, random):
    """Three steps that all help"""
    a, b, c = (random.uniform(0.5, 0.9) for _ in range(3))
    base = random.uniform(5, 50)
    times = {(): around(base), ("a",): around(base * a), ("a", "b"): around(base * a * b)}
    times["a", "b", "c"] = around(base * a * b * c)
    check(answer, ["a", "b", "c"], times, ["a", "b", "c"])


def case_refused_step(answer, random):
    """A step that the gate rejects, and one after it"""
    base = random.uniform(5, 50)
    times = {(): around(base), ("a",): around(base * 0.8), ("a", "c"): around(base * 0.5)}
    reason = f"max error {random.uniform(0.1, 0.9):.1e}"
    check(answer, ["a", "b", "c"], times, ["a", "c"], refused={"b": reason})


def case_costly_step(answer, random):
    """A step that is slower than the version below, but faster than the baseline"""
    base, ratio = random.uniform(5, 50), random.uniform(1.1, 1.4)
    times = {(): around(base), ("a",): around(base * 0.5), ("a", "b"): around(base * 0.5 * ratio)}
    times["a", "c"] = around(base * 0.45)
    check(answer, ["a", "b", "c"], times, ["a", "c"], remarks={"b": "costs time"})


def case_new_limit(answer, random):
    """The version below changes with every step that stays"""
    base = random.uniform(5, 50)
    times = {(): around(base), ("a",): around(base * 0.8), ("a", "b"): around(base * 0.4)}
    times["a", "b", "c"] = around(base * 0.6)
    check(answer, ["a", "b", "c"], times, ["a", "b"], remarks={"c": "costs time"})


def case_noise(answer, random):
    """A difference within the intervals: the step stays"""
    base = random.uniform(5, 50)
    times = {(): around(base, 0.02), ("a",): around(base * 1.01, 0.02), ("a", "b"): around(base * 0.7, 0.02)}
    check(answer, ["a", "b"], times, ["a", "b"])


def case_page(answer, random):
    """The four steps of this page"""
    steps = ["compile", "flash attention", "fused qkv", "fused gate-up"]
    check(answer, steps, PAGE, steps)


def case_measurements(answer, random):
    """No more measurements than steps and a baseline"""
    steps = [f"step {number}" for number in range(random.randint(4, 9))]
    base = random.uniform(50, 90)
    times = {tuple(steps[:n]): around(base * 0.9**n) for n in range(len(steps) + 1)}
    check(answer, steps, times, steps, calls=len(steps) + 1)
