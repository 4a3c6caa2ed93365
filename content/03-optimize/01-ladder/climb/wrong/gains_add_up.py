# fails: case_amdahl
# message: Only the accelerated share becomes shorter. Add the time of the rest to it before you divide.
def speedup(share, factor):
    return 1 + share * (factor - 1)


def climb(steps, measure):
    kept = []
    low, _ = measure(kept)
    for step in steps:
        trial_low, trial_high = measure([*kept, step])
        if trial_high < low:
            kept.append(step)
            low = trial_low
    return kept
