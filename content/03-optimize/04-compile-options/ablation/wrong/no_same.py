# fails: case_same, case_alone
# message: Overlapping intervals do not show a difference.
def ablation(options, defaults, passes, measure):
    low, high = measure({})
    verdicts = {}
    for name, value in options.items():
        changed = {name: value}
        if value == defaults[name]:
            verdicts[name] = "default"
            continue
        if not passes(changed):
            verdicts[name] = "wrong"
            continue
        trial_low, trial_high = measure(changed)
        if trial_low < low:
            verdicts[name] = "faster"
        elif trial_low >= low:
            verdicts[name] = "slower"
        else:
            verdicts[name] = "same"
    return verdicts
