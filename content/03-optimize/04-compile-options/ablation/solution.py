"""An ablation of compiler options: each alone, against the default, behind a precision check."""


def ablation(options, defaults, passes, measure):
    """A verdict for each option: "default", "wrong", "faster", "slower" or "same".

    `options` and `defaults` are dictionaries of values. `passes(changed)` compiles with the changed options and checks
    the results. `measure(changed)` returns the ends of an interval in ms; it may only be called if they pass.
    """
    low, high = measure({})
    verdicts = {}
    for name, value in options.items():
        changed = {name: value}
        # hole: skip
        # Measuring what changes nothing costs a compilation, and its noise looks like a result.
        if value == defaults[name]:
            verdicts[name] = "default"
            continue
        # end: skip
        # hole: gate
        # A wrong result is not timed at all.
        if not passes(changed):
            verdicts[name] = "wrong"
            continue
        # end: gate
        trial_low, trial_high = measure(changed)
        # hole: compare
        if trial_high < low:
            verdicts[name] = "faster"
        elif trial_low > high:
            verdicts[name] = "slower"
        else:
            verdicts[name] = "same"
        # end: compare
    return verdicts
