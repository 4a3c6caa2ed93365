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
        ...
        # end: skip
        # hole: gate
        ...
        # end: gate
        trial_low, trial_high = measure(changed)
        # hole: compare
        verdicts[name] = "faster" if trial_low < low else "slower"
        # end: compare
    return verdicts
