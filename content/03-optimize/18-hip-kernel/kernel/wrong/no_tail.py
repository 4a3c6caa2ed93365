# fails: case_tail
# message: The last block has threads without elements, and the last vector may be incomplete.
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
        # All threads of the block load neighbouring vectors, then move on together.
        index = block * threads * VECTORS + v * threads + thread
        # end: index
        at = index * WIDTH
        # hole: tail
        count = WIDTH
        # end: tail
        if count:
            loaded.append((at, gate.load(at, count), up.load(at, count)))
    for at, gates, ups in loaded:
        y.store(at, [silu(a) * b for a, b in zip(gates, ups, strict=True)])
