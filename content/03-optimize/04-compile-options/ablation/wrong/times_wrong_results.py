# fails: case_wrong
# message: A variant with wrong results was timed.
def ablation(options, defaults, passes, measure):
    low, high = measure({})
    verdicts = {}
    for name, value in options.items():
        changed = {name: value}
        if value == defaults[name]:
            verdicts[name] = "default"
            continue
        trial_low, trial_high = measure(changed)
        if not passes(changed):
            verdicts[name] = "wrong"
            continue
        if trial_high < low:
            verdicts[name] = "faster"
        elif trial_low > high:
            verdicts[name] = "slower"
        else:
            verdicts[name] = "same"
    return verdicts
