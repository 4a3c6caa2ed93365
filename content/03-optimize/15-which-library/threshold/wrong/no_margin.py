# fails: case_noise, case_small_counts
# message: A difference of one percent is noise. Leaving the default must save more.
LEAST_GAIN = 0.0


def fit(times):
    sizes = sorted(times)

    def loss(route, size):
        return times[size][route] / min(times[size].values()) - 1

    options = []
    noise = LEAST_GAIN * len(sizes)
    for route in ("plain", "other"):
        extra = 0.0 if route == "plain" else noise
        options.append((sum(loss(route, size) for size in sizes) + extra, None, route, route))
    for few, many in (("plain", "other"), ("other", "plain")):
        for limit in sizes[:-1]:
            lost = sum(loss(few if size <= limit else many, size) for size in sizes)
            options.append((lost + 2 * noise, limit, few, many))
    return min(options, key=lambda option: option[0])[1:]
