"""Which route runs a product, by the number of rows, fitted to measured times."""

LEAST_GAIN = 0.02


def fit(times):
    """`(limit, few, many)`: route `few` up to `limit` rows, `many` above; limit None if one route runs all.

    `times` has, for each number of rows, the time of "plain" and of "other".
    """
    sizes = sorted(times)

    def loss(route, size):
        """How much longer a route takes than the faster one: 0.1 is 10 %."""
        # hole: loss
        # Relative, so that small products count as much as large ones.
        return times[size][route] / min(times[size].values()) - 1
        # end: loss

    options = []
    # hole: options
    # Leaving the default must save more than noise, on average over the sizes; a split twice as much.
    noise = LEAST_GAIN * len(sizes)
    for route in ("plain", "other"):
        extra = 0.0 if route == "plain" else noise
        options.append((sum(loss(route, size) for size in sizes) + extra, None, route, route))
    for few, many in (("plain", "other"), ("other", "plain")):
        for limit in sizes[:-1]:
            lost = sum(loss(few if size <= limit else many, size) for size in sizes)
            options.append((lost + 2 * noise, limit, few, many))
    # end: options
    return min(options, key=lambda option: option[0])[1:]
