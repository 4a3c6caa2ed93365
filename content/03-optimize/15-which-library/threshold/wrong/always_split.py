# fails: case_one_route, case_noise, case_small_counts, case_one_size
# message: One route may be best for all sizes.
LEAST_GAIN = 0.02


def fit(times):
    sizes = sorted(times)

    def loss(route, size):
        return times[size][route] / min(times[size].values()) - 1

    options = []
    noise = LEAST_GAIN * len(sizes)
    for few, many in (("plain", "other"), ("other", "plain")):
        for limit in sizes[:-1]:
            lost = sum(loss(few if size <= limit else many, size) for size in sizes)
            options.append((lost + 2 * noise, limit, few, many))
    return min(options, key=lambda option: option[0])[1:]
