"""The program runs for every thread of a grid, on a memory that records each access."""

import math

from hipward_kernels.exercise import expect

WAVE = 64  # lanes of a wavefront on gfx90a, gfx942 and gfx950
THREADS = 128


class Memory:
    """An array that records (thread, position of the instruction in the thread, first element, count)."""

    def __init__(self, values, log):
        self.values, self.log, self.thread = list(values), log, None

    def check(self, kind, at, count):
        n = len(self.values)
        expect(0 <= at and at + count <= n, f"{kind} of elements {at} to {at + count - 1} of {n}")
        expect(count in (1, 2, 3, 4), f"{kind} of {count} elements: an instruction has at most 4")
        expect(at % 4 == 0 or count < 4, f"{kind} of 16 bytes at element {at}, which is not aligned")
        self.log.append((self.thread, kind, at, count))

    def load(self, at, count):
        self.check("load", at, count)
        return self.values[at : at + count]

    def store(self, at, values):
        values = list(values)
        self.check("store", at, len(values))
        self.values[at : at + len(values)] = values


def run(answer, gates, ups):
    """All threads of all blocks; returns y, the loads of `gate`, and all accesses of each thread."""
    n, per_block = len(gates), THREADS * answer.VECTORS * answer.WIDTH
    log, of_gate = [], []
    gate, up = Memory(gates, of_gate), Memory(ups, log)
    y = Memory([None] * n, log)
    for block in range(-(-n // per_block)):
        for thread in range(THREADS):
            gate.thread = up.thread = y.thread = block * THREADS + thread
            answer.lane(block, thread, THREADS, gate, up, y, n)
    return y.values, of_gate, log


def inputs(random, n):
    return [random.uniform(-6, 6) for _ in range(n)], [random.uniform(-2, 2) for _ in range(n)]


def compare(y, gates, ups):
    for i, (got, a, b) in enumerate(zip(y, gates, ups, strict=True)):
        expect(got is not None, f"element {i} of {len(y)} is not written")
        expected = a / (1 + math.exp(-a)) * b if a > -700 else 0.0
        # The order of the operations is free: some roundings of float64.
        close = math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12)
        expect(close, f"element {i}: got {got}, expected {expected}, for gate {a} and up {b}")


def case_values(answer, random):
    """Three whole blocks have the right result"""
    gates, ups = inputs(random, 3 * THREADS * 8)
    compare(run(answer, gates, ups)[0], gates, ups)


def case_tail(answer, random):
    """A last block that is not full, and a last vector that is not complete"""
    block = THREADS * 8
    for n in (1, 2, 3, 4, 5, 511, 512, 513, block - 1, block + 1, 2 * block + random.randrange(5, 500)):
        gates, ups = inputs(random, n)
        compare(run(answer, gates, ups)[0], gates, ups)


def case_extreme(answer, random):
    """Large gates give no NaN"""
    gates = [sign * size for size in (0.0, 1e-300, 40.0, 710.0, 1e4) for sign in (1, -1)]
    gates += [random.uniform(-800, 800) for _ in range(THREADS * 8 - 10)]  # one whole block
    ups = [1.5] * len(gates)
    compare(run(answer, gates, ups)[0], gates, ups)


def case_once(answer, random):
    """No element is loaded twice"""
    _, loads, _ = run(answer, *inputs(random, 2 * THREADS * 8))
    seen = set()
    for thread, _, at, count in loads:
        for element in range(at, at + count):
            expect(element not in seen, f"thread {thread} loads element {element} again")
            seen.add(element)


def case_wide(answer, random):
    """Whole vectors are loaded with 16 bytes"""
    _, loads, _ = run(answer, *inputs(random, 2 * THREADS * 8))
    for thread, _, at, count in loads:
        expect(count == 4, f"thread {thread} loads {4 * count} bytes at element {at}, expected 16")


def case_neighbours(answer, random):
    """The lanes of a wavefront load neighbours: 16 segments of 64 bytes"""
    _, loads, _ = run(answer, *inputs(random, 2 * THREADS * 8))
    of_thread, instructions = {}, {}
    for thread, _, at, count in loads:
        number = of_thread[thread] = of_thread.get(thread, -1) + 1
        touched = instructions.setdefault((thread // WAVE, number), [set(), 0])
        touched[0].update(range(at * 4 // 64, ((at + count) * 4 - 1) // 64 + 1))
        touched[1] += 4 * count
    for (wave, number), (segments, used) in instructions.items():
        share = used / (64 * len(segments))
        message = f"load {number} of wavefront {wave}: {len(segments)} segments, {share:.0%} of them used"
        expect(share == 1, message)


def case_flight(answer, random):
    """A thread issues all of its loads before its first store"""
    _, _, log = run(answer, *inputs(random, 2 * THREADS * 8))
    stored = set()
    for thread, kind, at, _ in log:
        if kind == "store":
            stored.add(thread)
        else:
            expect(thread not in stored, f"thread {thread} loads element {at} after a store")
