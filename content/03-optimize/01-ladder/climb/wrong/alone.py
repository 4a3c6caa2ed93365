# fails: case_regression, case_noise
# message: Steps are compared with eager instead of with the version that they are added to.
def speedup(share, factor):
    return 1 / ((1 - share) + share / factor)


def climb(steps, measure):
    kept = []
    low, _ = measure(kept)
    for step in steps:
        trial_low, trial_high = measure([*kept, step])
        if trial_high < low:
            kept.append(step)
    return kept
