"""Two tools for climbing a ladder: what a step can give, and whether to keep it."""


def speedup(share, factor):
    """How much faster a whole becomes, if `share` of it (0 to 1) becomes `factor` times as fast."""
    # hole: speedup
    return factor
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
        kept.append(step)
        # end: keep
    return kept
