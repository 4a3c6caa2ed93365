# fails: case_regression, case_noise, case_first_costs
# message: A step that costs time is kept.
def speedup(share, factor):
    return 1 / ((1 - share) + share / factor)


def climb(steps, measure):
    measure([])
    return [step for n, step in enumerate(steps) if measure(list(steps[: n + 1]))]
