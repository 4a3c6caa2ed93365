LEAST_GAIN = 0.02


def fit(times):
    sizes = sorted(times)

    def loss(route, size):
        return times[size][route] / min(times[size].values()) - 1

    options = []
    fastest = {size: min(times[size].values()) for size in sizes}
    noise = LEAST_GAIN * len(sizes)
    for route in ("plain", "other"):
        extra = 0.0 if route == "plain" else noise
        options.append((sum(times[size][route] / fastest[size] for size in sizes) + extra, None, route, route))
    for few, many in (("plain", "other"), ("other", "plain")):
        for limit in sizes[:-1]:
            lost = sum(times[size][few if size <= limit else many] / fastest[size] for size in sizes)
            options.append((lost + 2 * noise, limit, few, many))
    return min(options, key=lambda option: option[0])[1:]
