# fails: case_effects, case_alone
# message: Options are measured together, so a gain cannot be attributed to one of them.
def ablation(options, defaults, passes, measure):
    low, high = measure({})
    verdicts, together = {}, {}
    for name, value in options.items():
        if value == defaults[name]:
            verdicts[name] = "default"
            continue
        if not passes({name: value}):
            verdicts[name] = "wrong"
            continue
        together[name] = value
        trial_low, trial_high = measure(together)
        if trial_high < low:
            verdicts[name] = "faster"
        elif trial_low > high:
            verdicts[name] = "slower"
        else:
            verdicts[name] = "same"
    return verdicts
