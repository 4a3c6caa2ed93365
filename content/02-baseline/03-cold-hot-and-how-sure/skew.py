# test: run
"""A made-up run: 1,000 calls of about 100 µs, 20 of which are interrupted for 2 ms."""

import random
import statistics

random.seed(0)
calls = [random.gauss(100, 1) for _ in range(980)] + [random.gauss(2100, 50) for _ in range(20)]

mean, std, median = statistics.mean(calls), statistics.pstdev(calls), statistics.median(calls)
print(f"mean {mean:.0f} ± {std:.0f} µs, median {median:.0f} µs")
print(f"calls within 5 % of the mean: {sum(abs(call / mean - 1) < 0.05 for call in calls)}")
print(f"calls within 5 % of the median: {sum(abs(call / median - 1) < 0.05 for call in calls)}")

assert mean - std < 0 < median
