"""The functions are called with wavefronts of 64 and of 32 lanes."""

from hipward_kernels.exercise import expect


def values_of(random, count):
    # Integers: a sum is exact, so a missing or doubled value always shows.
    return [random.randrange(1, 1000) for _ in range(count)]


def case_wave(answer, random):
    """Every lane gets the sum of the wavefront"""
    for lanes in (64, 32):
        values = values_of(random, lanes)
        expected = sum(values)
        got = answer.wave_sum(list(values))
        expect(len(got) == lanes, f"{lanes} lanes: got {len(got)} values")
        for lane, value in enumerate(got):
            expect(value == expected, f"{lanes} lanes: lane {lane} has {value}, expected {expected}")


def case_steps(answer, random):
    """A wavefront of 64 takes 6 shuffles, one of 32 takes 5"""
    shuffle, count = answer.shuffle_xor, 0

    def counted(register, distance):
        nonlocal count
        count += 1
        return shuffle(register, distance)

    answer.shuffle_xor = counted
    try:
        for lanes, expected in ((64, 6), (32, 5)):
            count = 0
            try:
                answer.wave_sum(values_of(random, lanes))
            except IndexError:
                continue  # reported by the first case
            expect(count == expected, f"{lanes} lanes: {count} shuffles, expected {expected}")
    finally:
        answer.shuffle_xor = shuffle


def case_block(answer, random):
    """A block of several wavefronts has the right sum"""
    for lanes in (64, 32):
        for count in (lanes, 128, 256, 1024):
            values = values_of(random, count)
            expected = sum(values)
            got = answer.block_sum(list(values), lanes)
            message = f"{count} threads, {lanes} lanes: got {got}, expected {expected}"
            expect(got == expected, message)


def case_ballot(answer, random):
    """Votes of all lanes are counted"""
    for lanes in (64, 32):
        ballot = random.getrandbits(lanes) | 1 << (lanes - 2) | 1 << (lanes - 1)
        for lane in (0, 1, lanes // 2, lanes - 2, lanes - 1):
            expected = sum(ballot >> lower & 1 for lower in range(lane))
            got = answer.active_below(ballot, lane)
            message = f"ballot {ballot:#x}, lane {lane}: got {got}, expected {expected}"
            expect(got == expected, message)
