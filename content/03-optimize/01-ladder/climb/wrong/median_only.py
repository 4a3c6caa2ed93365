# fails: case_noise
# message: A step is kept although its interval overlaps the one before it. The difference may be noise.
def speedup(share, factor):
    return 1 / ((1 - share) + share / factor)


def climb(steps, measure):
    kept = []
    low, high = measure(kept)
    for step in steps:
        trial_low, trial_high = measure([*kept, step])
        if trial_low + trial_high < low + high:
            kept.append(step)
            low, high = trial_low, trial_high
    return kept
