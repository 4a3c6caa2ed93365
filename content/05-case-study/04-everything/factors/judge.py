"""Cases for the parts of a speed-up, with the rows of kernels/results/models.csv and with others."""

from hipward_kernels.exercise import expect, expect_close

# version, size, step and busy time in ms: NVIDIA H200, bfloat16, 2 and 3 December 2026, study compare-versions.
RECORDED = [
    ("v1", "medium", 67.1171, 64.5385), ("v2", "medium", 25.9341, 24.7848), ("v3", "medium", 25.8827, 24.3303),
    ("v4", "medium", 21.7115, 20.4302), ("v1", "small", 38.2244, 4.68304), ("v2", "small", 16.2652, 2.19446),
    ("v3", "small", 16.3438, 2.20832), ("v4", "small", 1.69734, 1.55707),
]  # fmt: skip
# Quotients of float64 numbers.
EXACT = 1e-9


def steps(answer):
    return {
        (version, size): answer.Step(version, size, "bfloat16", "NVIDIA H200", step, busy)
        for version, size, step, busy in RECORDED
    }


def close(what, got, want):
    expect_close(float(got), want, rtol=EXACT, what=what)


def case_page(answer, random):
    """The page's versions over version 1, in both sizes"""
    found = steps(answer)
    for (version, size), step in found.items():
        first = found["v1", size]
        work, waiting = answer.factors(first, step)
        close(f"{version} {size}: work", work, first.busy_ms / step.busy_ms)
        close(f"{version} {size}: waiting", waiting, first.step_ms * step.busy_ms / first.busy_ms / step.step_ms)


def any_step(answer, random, **changes):
    busy = random.uniform(1, 90)
    values = {"version": "a", "size": "s", "precision": "p", "device": "d", "step_ms": busy * random.uniform(1.1, 9), "busy_ms": busy}
    return answer.Step(**{**values, **changes})


def case_product(answer, random):
    """The product of the two factors is the speed-up"""
    for _ in range(5):
        a, b = any_step(answer, random), any_step(answer, random)
        work, waiting = answer.factors(a, b)
        close("the product", work * waiting, a.step_ms / b.step_ms)
        close("work", work, a.busy_ms / b.busy_ms)


def case_no_waiting(answer, random):
    """A GPU that never waits, before and after: the waiting factor is 1"""
    a, b = (answer.Step("a", "s", "p", "d", ms, ms) for ms in (random.uniform(30, 90), random.uniform(1, 20)))
    work, waiting = answer.factors(a, b)
    close("work", work, a.step_ms / b.step_ms)
    close("waiting", waiting, 1.0)


def case_comparable(answer, random):
    """Another size, precision or device is refused; another version is not"""
    one = any_step(answer, random)
    for name in ("size", "precision", "device"):
        other = any_step(answer, random, **{name: "other"})
        for pair in ((one, other), (other, one)):
            try:
                answer.factors(*pair)
            except answer.NotComparable:
                continue
            expect(condition=False, message=f"another {name} was compared")
    answer.factors(one, any_step(answer, random, version="other"))


def case_sentence(answer, random):
    """The sentence names the factor, the rival, the precision, the size and the device"""
    found = steps(answer)
    want = "3.09× over v1 in bfloat16 (medium, NVIDIA H200)"
    got = answer.sentence(found["v1", "medium"], found["v4", "medium"])
    expect(got == want, f"{got!r}, expected {want!r}")
    rival = any_step(answer, random, version="compiled with SDPA")
    step = any_step(answer, random, version="mine")
    want = f"{rival.step_ms / step.step_ms:.2f}× over compiled with SDPA in p (s, d)"
    expect(answer.sentence(rival, step) == want, f"{answer.sentence(rival, step)!r}, expected {want!r}")


def case_roofline(answer, random):
    """Shares of steps that are limited by arithmetic, and by memory; version 4 of the page"""
    step = answer.Step("v4", "medium", "bfloat16", "NVIDIA H200", 21.259, 20.2)
    close("the share", answer.share_of_roofline(step, 9.6373e12, 20.7607e9, 800.814e12, 4260.95e9), 9.6373e12 / 800.814e12 * 1e3 / 21.259)
    for flops_ms, bytes_ms in ((8, 3), (2, 7), (5, 5)):
        rate, speed = random.uniform(1e12, 1e15), random.uniform(1e11, 1e13)
        step = any_step(answer, random, step_ms=random.uniform(16, 40))
        got = answer.share_of_roofline(step, flops_ms * 1e-3 * rate, bytes_ms * 1e-3 * speed, rate, speed)
        close("the share", got, max(flops_ms, bytes_ms) / step.step_ms)


def case_impossible(answer, random):
    """A step below its least time: a ValueError, because something was measured wrongly"""
    step = any_step(answer, random, step_ms=random.uniform(1, 9))
    least = step.step_ms * random.uniform(1.05, 15)
    try:
        got = answer.share_of_roofline(step, least * 1e9, 1.0, 1e12, 1e12)
    except ValueError:
        return
    expect(condition=False, message=f"a share of {float(got):.2f} was returned for a step that cannot be")
