"""Cases for the efficiency of several processes."""

from hipward_kernels.exercise import expect, expect_close

# Sums and quotients of a few float64 numbers.
EXACT = 1e-9


def steps(random, median, count=21):
    """Times with this median and a tail."""
    below = [median * random.uniform(0.95, 0.999) for _ in range(count // 2)]
    above = [median * random.choice([1.01, 1.02, 3.0]) for _ in range(count // 2)]
    return random.sample([*below, median, *above], count)


def run(answer, random, alone, together, uncoupled, batch=16, sums=None):
    sums = sums or [[1.5, -2.25]] * len(together)
    each = [[steps(random, ms) for ms in of] for of in (together, uncoupled)]
    return answer.scaling(steps(random, alone), *each, batch, sums)


def close(name, got, want):
    try:
        expect_close(float(got), want, atol=EXACT, rtol=EXACT)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None


def case_two_gpus(answer, random):
    """Version 4 on two GPUs, as on the page"""
    found = run(answer, random, 21.8382, [25.3082, 25.1], [22.0626, 22.0])
    close("step", found.step_ms, 25.3082)
    close("efficiency", found.efficiency, 21.8382 / 25.3082)
    close("averaging", found.averaging_ms, 25.3082 - 22.0626)
    close("sharing", found.sharing_ms, 22.0626 - 21.8382)
    expect(found.remark == "", f"the remark is {found.remark!r}, expected none")


def case_slowest(answer, random):
    """One slow process among several"""
    alone, count = random.uniform(5, 90), random.choice([3, 5, 8])
    together = [alone * random.uniform(1.01, 1.05) for _ in range(count)]
    together[random.randrange(count)] = alone * 1.6
    found = run(answer, random, alone, together, [alone] * count)
    close("step", found.step_ms, alone * 1.6)
    close("efficiency", found.efficiency, 1 / 1.6)


def case_throughput(answer, random):
    """Samples per second of all processes"""
    alone, count, batch = random.uniform(5, 90), random.choice([2, 3, 7]), random.randint(1, 65)
    found = run(answer, random, alone, [alone * 1.25] * count, [alone] * count, batch=batch)
    close("samples per second", found.samples_per_second, count * batch / (alone * 1.25) * 1e3)
    close("efficiency", found.efficiency, 0.8)


def case_one_process(answer, random):
    """A single process is as fast as one alone"""
    alone = random.uniform(5, 90)
    found = run(answer, random, alone, [alone], [alone])
    close("efficiency", found.efficiency, 1.0)
    expect(found.remark == "", f"the remark is {found.remark!r}, expected none")


def case_different_parameters(answer, random):
    """Processes that train different models"""
    sums = [[1.5, -2.25], [1.5, -2.25], [1.5, -2.25 + random.uniform(1e-6, 1)]]
    found = run(answer, random, 20.0, [20.1] * 3, [20.0] * 3, sums=sums)
    expect("different parameters" in found.remark, f"the remark is {found.remark!r}")


def case_more_than_perfect(answer, random):
    """An efficiency of 162.6 %, as in the transcript"""
    found = run(answer, random, 542.804, [333.884] * 2, [691.849] * 2)
    close("efficiency", found.efficiency, 542.804 / 333.884)
    expect("more than 100 %" in found.remark, f"the remark is {found.remark!r}")
