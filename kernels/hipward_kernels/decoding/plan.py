"""Launches of the decoding kernels. The functions are pure, so that cross-compilation has the same ones as a GPU."""

from __future__ import annotations

from hipward_kernels.ops.hip_launch import VECTOR_BYTES

THREADS = 256
"""Threads of a block of a product."""

ATTENTION_THREADS = 512
"""Most threads of a block of the attention."""

MOST_LOGITS = 2**16
"""Most logits of all sequences of which one block chooses the tokens."""

CHOOSE_THREADS = 1024

MOST_SEQUENCES = 8
"""Most rows of a product: each has its sums in registers."""

MOST_VECTORS = 8
"""Vectors of a weight's row that a thread loads at once. More threads share longer rows."""

TILED_SEQUENCES, TILED_THREADS = 2, 2**17
"""Most sequences for two results of a thread, and fewest threads with one result: 512 blocks."""

SHARED_BYTES = 46 * 1024
"""Most bytes of normalized rows, or of results of waves, in a block: the 48 KiB that every GPU has without asking, less
some sums."""

MOST_SHARED = 4
"""Most heads of queries of a block of the attention: each has its sums in registers."""

FEWEST_KEYS, MOST_SPLITS = 256, 64
"""Fewest positions of a block, if several blocks share those of a head; and most such blocks."""

BLOCKS_PER_UNIT = 2
"""Blocks of the attention on a compute unit that splitting aims for."""


def lanes(columns: int, itemsize: int, wave: int) -> int:
    """Threads that share a row of the weight."""
    found = wave
    while found < THREADS and columns * itemsize > VECTOR_BYTES * MOST_VECTORS * found:
        found *= 2
    return found


def tiles(threads: int, batch: int) -> int:
    """Results of each of the threads, if one each takes `threads`.

    Two, if there are enough registers for the weights and sums of both, and the GPU still has enough blocks.
    """
    return 2 if batch <= TILED_SEQUENCES and threads >= TILED_THREADS else 1


def fits(batch: int, columns: int, itemsize: int) -> bool:
    """Whether a block has room for the normalized rows."""
    return batch * columns * itemsize <= SHARED_BYTES


def has_teams(features: int, itemsize: int, wave: int) -> bool:
    """Whether a head can be read by a part of a wave, with a vector for each lane."""
    team, rest = divmod(features * itemsize, VECTOR_BYTES)
    return rest == 0 and 0 < team <= wave and team & (team - 1) == 0


def shared_heads(group: int, queries: int, units: int) -> int:
    """Heads of queries that a block computes, of the `group` that share keys.

    One, unless there are `queries` for more blocks than `units`.
    """
    most = min(MOST_SHARED, max(queries // units, 1))
    return max(count for count in range(1, most + 1) if group % count == 0)


def attention_threads(features: int, shared: int, wave: int) -> int:
    """Threads of a block of the attention, whose waves each store a result of every head."""
    threads = ATTENTION_THREADS
    while threads // wave * shared * (features + 2) * 4 > SHARED_BYTES:
        threads //= 2
    return threads


def splits(rows: int, room: int, units: int) -> int:
    """Blocks that share the positions of a head: enough for `units` compute units, if each has enough positions."""
    return max(1, min(BLOCKS_PER_UNIT * units // rows, room // FEWEST_KEYS, MOST_SPLITS))
