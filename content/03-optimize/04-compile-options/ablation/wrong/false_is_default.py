# fails: case_default
# message: False is not always the default. Compare with `defaults`.
def ablation(options, defaults, passes, measure):
    low, high = measure({})
    verdicts = {}
    for name, value in options.items():
        changed = {name: value}
        if not value:
            verdicts[name] = "default"
            continue
        if not passes(changed):
            verdicts[name] = "wrong"
            continue
        trial_low, trial_high = measure(changed)
        if trial_high < low:
            verdicts[name] = "faster"
        elif trial_low > high:
            verdicts[name] = "slower"
        else:
            verdicts[name] = "same"
    return verdicts
