def verdict(name, value, defaults, passes, measure, base):
    if defaults[name] == value:
        return "default"
    if not passes({name: value}):
        return "wrong"
    low, high = measure({name: value})
    if high < base[0]:
        return "faster"
    return "slower" if low > base[1] else "same"


def ablation(options, defaults, passes, measure):
    base = measure({})
    return {name: verdict(name, value, defaults, passes, measure, base) for name, value in options.items()}
