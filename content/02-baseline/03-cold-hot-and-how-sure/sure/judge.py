"""Cases for intervals, percentiles and verdicts."""

import math

from hipward_kernels.exercise import expect, expect_close

TRIALS = 400


def times(random, n):
    """Calls of about 100 µs with a long tail: a distribution whose median is 100."""
    return [100 + 5 * (math.exp(random.gauss(0, 1)) - 1) for _ in range(n)]


def case_coverage(answer, random):
    """The interval contains the true median in about 95 of 100 runs"""
    for n in (12, 31, 100):
        found = [answer.interval(times(random, n)) for _ in range(TRIALS)]
        share = sum(each.low <= 100 <= each.high for each in found) / TRIALS
        # 95 % or a little more, because ranks are whole; ± 3 % are three standard errors of 400 runs.
        expect(0.91 < share, f"with {n} samples, {share:.0%} of the intervals contain the median; expected 95 %")


def case_width(answer, random):
    """The interval is no wider than it needs to be"""
    for n in (101, 400):
        ranks = list(range(n))
        random.shuffle(ranks)
        found = answer.interval([float(rank) for rank in ranks])
        width = found.high - found.low
        # 1.96 standard deviations of the count to each side, and at most two ranks of rounding each.
        limit = 1.96 * math.sqrt(n) + 4
        expect(width <= limit, f"{n} samples: the interval spans {width:.0f} ranks; {limit:.0f} are enough")
        expect_close(found.value, (n - 1) / 2, atol=0.0)


def case_few_samples(answer, random):
    """Ten samples: the interval stays within them"""
    samples = times(random, 10)
    found = answer.interval(samples)
    expect(min(samples) <= found.low <= found.value <= found.high <= max(samples), f"the interval is {found}")


def case_tail(answer, random):
    """P50, P95 and P99 of shuffled samples"""
    for n in (random.choice([99, 101, 1000]), 100):
        samples = [float(rank) for rank in range(1, n + 1)]
        random.shuffle(samples)
        for share in (0.5, 0.95, 0.99, 1.0):
            got = answer.percentile(samples, share)
            want = next(rank for rank in range(1, n + 1) if rank >= share * n - 1e-9)
            expect(got == want, f"the {share:.0%} of 1 to {n} is {got}, expected {want}")


def check(answer, baseline, control, candidate, want, why=""):
    got = answer.verdict(*(answer.Median(*each) for each in (baseline, control, candidate)))
    expect(got == want, f"baseline {baseline}, control {control}, candidate {candidate}: {got}, expected {want}{why}")


BASELINE, CONTROL = (99.9, 100.2, 100.5), (98.6, 98.9, 99.2)


def case_page(answer, random):
    """The five candidates of the drawing"""
    check(answer, BASELINE, CONTROL, (98.1, 98.4, 98.7), "SAME")
    check(answer, BASELINE, CONTROL, (89.0, 89.5, 90.1), "FASTER")
    check(answer, BASELINE, CONTROL, (84.0, 97.0, 112.0), "AMBIGUOUS")
    check(answer, BASELINE, CONTROL, (101.2, 101.5, 101.8), "SAME")
    check(answer, BASELINE, CONTROL, (109.5, 110.0, 110.4), "SLOWER")


def case_noisy_control(answer, random):
    """The control differs by more than the gain"""
    scale = random.uniform(0.1, 50)
    base, control, fast = ((scale * a, scale * b, scale * c) for a, b, c in ((99, 100, 101), (119, 120, 121), (84, 85, 86)))
    check(answer, base, control, fast, "AMBIGUOUS")


def case_wide(answer, random):
    """A wide interval is no evidence for SAME"""
    scale = random.uniform(0.1, 50)
    base, wide = ((scale * a, scale * b, scale * c) for a, b, c in ((99, 100, 101), (80, 100, 120)))
    check(answer, base, base, wide, "AMBIGUOUS")
