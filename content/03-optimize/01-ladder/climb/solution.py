"""Two tools for climbing a ladder: what a step can give, and whether to keep it."""


def speedup(share, factor):
    """How much faster a whole becomes, if `share` of it (0 to 1) becomes `factor` times as fast."""
    # hole: speedup
    # The rest takes as long as before. The time of a whole of 1 is the rest plus the shrunken share.
    return 1 / ((1 - share) + share / factor)
    # end: speedup


def climb(steps, measure):
    """The steps to keep, in order.

    `measure(names)` times the model with these steps and returns the ends of an interval in ms.
    """
    kept = []
    low, _ = measure(kept)
    for step in steps:
        trial_low, trial_high = measure([*kept, step])
        # hole: keep
        # Faster only if the intervals do not overlap. The kept version is the baseline of the next step.
        if trial_high < low:
            kept.append(step)
            low = trial_low
        # end: keep
    return kept
