# fails: case_neighbours
# message: The result is right, but each thread has its vectors side by side. One instruction then uses half of every segment that it touches.
"""The kernel of the page in Python: `lane` is the program of one thread.

`gate`, `up` and `y` are arrays in memory. `gate.load(at, count)` reads `count` neighbouring elements
with one instruction, and `y.store(at, values)` writes them. A float has 4 bytes.
"""

import math

WIDTH = 4  # floats of a vector: 16 bytes
VECTORS = 2  # vectors of each thread


def exp(x: float) -> float:
    """The exponential function; infinite for a large x, as on a GPU."""
    return math.exp(x) if x < 700 else math.inf


def silu(gate: float) -> float:
    """gate · sigmoid(gate)"""
    # hole: activation
    # For a large negative gate, exp(-gate) is infinite, and the quotient is -0.
    return gate / (1 + exp(-gate))
    # end: activation


def lane(block: int, thread: int, threads: int, gate, up, y, n: int) -> None:
    """Computes VECTORS vectors of y = silu(gate) · up. A block has `threads` threads."""
    loaded = []
    for v in range(VECTORS):
        # hole: index
        index = (block * threads + thread) * VECTORS + v
        # end: index
        at = index * WIDTH
        # hole: tail
        # The last vector may be incomplete, and a vector behind it has no elements.
        count = max(0, min(WIDTH, n - at))
        # end: tail
        if count:
            loaded.append((at, gate.load(at, count), up.load(at, count)))
    for at, gates, ups in loaded:
        y.store(at, [silu(a) * b for a, b in zip(gates, ups, strict=True)])
