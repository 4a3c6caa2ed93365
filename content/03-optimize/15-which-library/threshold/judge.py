"""Sweeps with a known answer, in microseconds."""

from hipward_kernels.exercise import expect

SIZES = [1, 4, 16, 64, 256, 1024, 4096]


def sweep(random, other):
    """Times of the plain route that grow with the rows, and of the other, `other(rows)` times as long."""
    times = {}
    for rows in SIZES:
        plain = (18 + 0.08 * rows) * random.uniform(0.9, 1.1)
        times[rows] = {"plain": plain, "other": plain * other(rows)}
    return times


def check(answer, times, expected):
    got = tuple(answer.fit({rows: dict(routes) for rows, routes in times.items()}))
    expect(got == expected, f"{got}, expected {expected}")


def case_few(answer, random):
    """The other route is faster up to 64 rows"""
    gain = random.uniform(0.5, 0.8)
    check(answer, sweep(random, lambda rows: gain if rows <= 64 else 1.3), (64, "other", "plain"))


def case_many(answer, random):
    """The other route is faster above 256 rows"""
    gain = random.uniform(0.5, 0.8)
    check(answer, sweep(random, lambda rows: gain if rows > 256 else 1.2), (256, "plain", "other"))


def case_one_route(answer, random):
    """One route is faster for every number of rows"""
    check(answer, sweep(random, lambda rows: random.uniform(0.6, 0.8)), (None, "other", "other"))
    check(answer, sweep(random, lambda rows: random.uniform(1.2, 1.4)), (None, "plain", "plain"))


def case_noise(answer, random):
    """Differences of one percent: the default stays"""
    check(answer, sweep(random, lambda rows: 0.99 if rows in (1, 64, 4096) else 1.004), (None, "plain", "plain"))
    check(answer, sweep(random, lambda rows: 0.99 if rows <= 16 else 1.005), (None, "plain", "plain"))


def case_small_counts(answer, random):
    """Six sizes are 30 % faster, the largest 5 % slower: a split before the largest"""
    check(answer, sweep(random, lambda rows: 0.7 if rows <= 1024 else 1.2), (1024, "other", "plain"))
    check(answer, sweep(random, lambda rows: 0.7 if rows <= 1024 else 1.05), (None, "other", "other"))


def case_one_size(answer, random):
    """A sweep of one size has no split"""
    check(answer, {8: {"plain": 20.0, "other": random.uniform(8, 12)}}, (None, "other", "other"))
    check(answer, {8: {"plain": 20.0, "other": random.uniform(28, 32)}}, (None, "plain", "plain"))
