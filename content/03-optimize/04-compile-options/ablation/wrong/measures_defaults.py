# fails: case_default
# message: An option that equals its default was compiled and measured.
def ablation(options, defaults, passes, measure):
    low, high = measure({})
    verdicts = {}
    for name, value in options.items():
        changed = {name: value}
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
