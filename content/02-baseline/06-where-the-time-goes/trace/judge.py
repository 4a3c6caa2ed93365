"""Cases for the breakdown of a trace."""

from hipward_kernels.exercise import expect_close

KINDS = ["gemm", "attention", "elementwise", "other"]
# The answers add a few hundred float64 numbers below 1e6; rounding explains less than 1e-9 of them.
TOLERANCE = 1e-9


def check(answer, kernels):
    """Compares with a count of whole microseconds. Starts and durations are integers."""
    covered = {t for _, start, duration in kernels for t in range(start, start + duration)}
    first = min(start for _, start, _ in kernels)
    span = max(start + duration for _, start, duration in kernels) - first
    want = {kind: sum(d for k, _, d in kernels if k == kind) / span for kind, _, _ in kernels}
    want["gap"] = 1 - len(covered) / span
    mine = [answer.Kernel(*kernel) for kernel in kernels]
    expect_close(answer.busy(mine), float(len(covered)), atol=TOLERANCE * len(covered))
    got = answer.shares(mine)
    if set(got) != set(want):
        raise AssertionError(f"the kinds are {sorted(got)}, expected {sorted(want)}")
    for kind, share in want.items():
        try:
            expect_close(float(got[kind]), share, atol=TOLERANCE)
        except AssertionError as error:
            raise AssertionError(f"share of {kind}: {error}") from None


def stream(random, count, start):
    """Kernels of one stream, one after the other."""
    kernels = []
    for _ in range(count):
        duration = random.randint(3, 90)
        kernels.append((random.choice(KINDS), start, duration))
        start += duration + random.choice([0, 1, random.randint(2, 60)])
    return kernels


def case_one_kernel(answer, random):
    """A single kernel: no gap"""
    check(answer, [("gemm", 0, random.randint(1, 500))])


def case_one_stream(answer, random):
    """One kernel after the other, with gaps"""
    check(answer, stream(random, 65, 0))


def case_later_start(answer, random):
    """A trace that does not start at 0"""
    check(answer, stream(random, 17, random.randint(10_000, 90_000)))


def case_two_streams(answer, random):
    """Two streams whose kernels run at the same time"""
    start = random.randint(1_000, 2_000)
    # Of the second stream, one kernel runs inside the first one's, and one continues after it.
    kernels = [("gemm", start, 50), ("elementwise", start + 10, 15), ("elementwise", start + 30, 40)]
    rest = start + 70
    kernels += stream(random, 31, rest) + stream(random, 33, rest + 1) + [("other", rest + 9_000, 10)]
    random.shuffle(kernels)
    check(answer, kernels)


def case_kernel_inside_another(answer, random):
    """A long kernel with shorter ones inside it"""
    start, length = random.randint(100, 900), random.randint(500, 700)
    inside = [("elementwise", start + at, random.randint(3, 9)) for at in (10, 40, 70)]
    check(answer, [("other", start - 50, 20), ("attention", start, length), *inside])
