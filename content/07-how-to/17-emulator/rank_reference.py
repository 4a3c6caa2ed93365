# test: analyze
"""The ranks that the kernel computes on an NVIDIA GPU."""

import numpy as np

WARP = 32


def reference(x, rank, n):
    expected = np.zeros(n, np.int32)
    for start in range(0, n, WARP):
        positive = x[start : start + WARP] > 0
        expected[start : start + WARP] = np.cumsum(positive) - positive
    return {"rank": expected}
