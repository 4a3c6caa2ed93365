# fails: case_ballot
# message: A 32-bit mask drops the votes of lanes 32 to 63.
"""A wavefront in Python: `register` is a list with one value for each lane, 64 or 32 of them.

`shuffle_xor` is the only way in which a lane gets another lane's value, as `__shfl_xor` in HIP.
"""


def shuffle_xor(register: list, distance: int) -> list:
    """Each lane gets the value of the lane whose number differs in the bits of `distance`."""
    return [register[lane ^ distance] for lane in range(len(register))]


def wave_sum(register: list) -> list:
    """The sum over all lanes, in every lane."""
    # hole: distance
    # Half the lanes first: 32 on a wavefront of 64. Then half of that, down to 1.
    distance = len(register) // 2
    # end: distance
    while distance:
        other = shuffle_xor(register, distance)
        register = [mine + theirs for mine, theirs in zip(register, other, strict=True)]
        distance //= 2
    return register


def block_sum(values: list, lanes: int) -> float:
    """The sum of a block's values: each wavefront sums its own, then one thread sums the rest."""
    parts = {}
    for thread in range(len(values)):
        # hole: wave
        # Wavefront and lane of a thread depend on the hardware.
        wave, lane = thread // lanes, thread % lanes
        # end: wave
        if lane == 0:
            parts[wave] = wave_sum(values[wave * lanes : (wave + 1) * lanes])[0]
    return sum(parts.values())


def active_below(ballot: int, lane: int) -> int:
    """How many lanes with a smaller number have voted yes; `ballot` has one bit for each lane."""
    # hole: ballot
    return (ballot & 0xFFFFFFFF & ((1 << lane) - 1)).bit_count()
    # end: ballot
