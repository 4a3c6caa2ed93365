"""The two functions, on numbers that differ at each run."""

from hipward_kernels.exercise import expect

STEPS = ["compile", "attention", "norms", "projections", "products"]


class Job:
    """A model whose steps save or cost a fixed number of milliseconds, measured with an uncertainty."""

    def __init__(self, base, changes, half):
        self.base, self.changes, self.half, self.asked = base, changes, half, []

    def measure(self, names):
        self.asked.append(list(names))
        middle = self.base + sum(self.changes[name] for name in names)
        return middle - self.half, middle + self.half


def climb(answer, job, expected):
    got = list(answer.climb(STEPS, job.measure))
    for names in job.asked:
        expect(names == [name for name in STEPS if name in names], f"measured {names}: keep the order of `steps`")
    expect(got == expected, f"kept {got}, expected {expected}")


def case_amdahl(answer, random):
    """A share of the step, made faster by a factor"""
    for share, factor in ((0.36, 5.0), (0.05, 10.0), (random.uniform(0.1, 0.9), random.uniform(1.1, 20))):
        before, after = 100.0, 100.0 * (1 - share) + 100.0 * share / factor
        got = answer.speedup(share, factor)
        # Two ways to round one division differ by a few units in the last place.
        expect(abs(got - before / after) < 1e-9, f"speedup({share:.3g}, {factor:.3g}) is {got:.4f}, not {before / after:.4f}")


def case_slower(answer, random):
    """A factor below 1 makes the step slower, and a share of 1 gives the whole factor"""
    factor = random.uniform(0.3, 0.9)
    expect(answer.speedup(0.5, factor) < 1, f"speedup(0.5, {factor:.2f}) must be below 1")
    expect(abs(answer.speedup(1.0, 7.0) - 7.0) < 1e-9, "speedup(1.0, 7.0) must be 7")


def case_all_help(answer, random):
    """Every step saves time"""
    changes = {name: -random.uniform(4, 8) for name in STEPS}
    climb(answer, Job(80.0, changes, 0.5), STEPS)


def case_regression(answer, random):
    """A step that costs time is left out, and the later ones are measured without it"""
    changes = {name: -random.uniform(4, 8) for name in STEPS} | {"norms": random.uniform(2, 4)}
    job = Job(80.0, changes, 0.5)
    climb(answer, job, [name for name in STEPS if name != "norms"])
    expect(["compile", "attention", "projections"] in job.asked, "`projections` was not measured without `norms`")


def case_noise(answer, random):
    """A difference within the intervals is not kept"""
    changes = {name: -6.0 for name in STEPS} | {"products": -random.uniform(0.1, 0.9)}
    climb(answer, Job(80.0, changes, 0.5), STEPS[:-1])


def case_first_costs(answer, random):
    """The first step costs time; the next ones are compared with the baseline"""
    changes = {name: -random.uniform(4, 8) for name in STEPS} | {"compile": 30.0}
    climb(answer, Job(80.0, changes, 0.5), STEPS[1:])
