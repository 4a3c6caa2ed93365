"""Distribution of rows over the threads of HIP kernels that have a row in registers: RMSNorm, LayerNorm, softmax.

The threads of one block, or of a cluster of blocks if the GPU has clusters, have a row in registers (`row.h`). The
functions are pure, so that cross-compilation uses the same launches as a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipward_kernels.gpu.arch import cluster_of
from hipward_kernels.ops.hip_launch import VECTOR_BYTES
from hipward_kernels.ops.launch import next_power_of_two, resident_workgroups

if TYPE_CHECKING:
    from collections.abc import Mapping

ROW_THREADS = 512
"""Most threads of a row in a block: with more, no second block fits that could load while the first one computes."""

BLOCK_THREADS = 128
"""Fewest threads of a block, if a row needs fewer."""

MOST_VECTORS = 16
"""Most vectors of a thread, of all inputs: 64 registers, the most that 512 threads can have without spilling."""

AMD_MOST_VECTORS = 8
"""The same on AMD GPUs: with more, only one workgroup of 512 threads has its registers on a compute unit, and memory is
idle while it reduces. Longer rows are left to the next tier, whose workgroups have a part of a row."""

CLUSTERED_VECTORS = 4096
"""Rows from this length on are shared by blocks of a cluster: each SM of an H200 then holds several rows."""

SMALLEST_CLUSTER_ROW = 32
"""Fewest threads of a row in a block of a cluster: a warp, since only NVIDIA GPUs have clusters."""

BACKWARD_VECTORS = 2
"""Most vectors of a thread in the backward of a norm. A vector of 16-bit numbers needs at least 20 registers: the row,
its gradient, the weight, and the partial gradient of the weight in float32. With more vectors, only one workgroup of
512 threads has its registers on a compute unit of an AMD GPU."""

NVIDIA_BLOCKS, NVIDIA_CLUSTERED_BLOCKS = 2, 16
"""Blocks of NVIDIA's backward on a multiprocessor, if a row has one block, and if it has several: enough to hide the
latency of memory, few enough for small partial gradients of the weight. Measured on an H100."""

NVIDIA_THREADS = 512
"""Threads of these blocks on a multiprocessor, if a row has one block of few threads."""

WIDE_ROW_THREADS = 1024
"""Most threads of a row in a block of NVIDIA's backward."""

CLUSTERED_ROW_THREADS, CLUSTERED_MOST_VECTORS = 256, 4
"""Threads and most vectors of a thread, in the backward of rows that have no other plan and do not fit into a block."""

CLUSTERED_ROWS = 4
"""Fewest rows of a cluster, so that the partial gradients of the weight stay smaller than the inputs."""


@dataclass(frozen=True)
class Plan:
    """Distribution of rows over threads."""

    row_threads: int
    """Threads per row in a block."""
    rows: int
    """Rows per block."""
    cluster: int
    """Blocks per row."""
    vectors: int
    """Vectors per thread."""
    whole: bool
    """Whether the vectors of the threads cover the row exactly."""
    per_unit: int = 0
    """Blocks on a multiprocessor, in the backward; 0 is the default."""

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.row_threads * self.rows

    def macros(self) -> dict[str, int]:
        """Macros of the kernels."""
        return {
            "ROW_THREADS": self.row_threads,
            "ROWS": self.rows,
            "CLUSTER": self.cluster,
            "VECTORS": self.vectors,
            "WHOLE": int(self.whole),
        }


def plan(
    columns: int,
    itemsize: int,
    most_vectors: int,
    cluster: int,
    chosen: Mapping[str, int],
    most_threads: int = ROW_THREADS,
) -> Plan | None:
    """The launch for rows of a length, or None if a thread would need more than `most_vectors` vectors.

    A thread has two vectors, as long as there are enough threads. Values of `chosen`, from the tuned table, replace the
    defaults.
    """
    vectors = -(-columns // (VECTOR_BYTES // itemsize))
    cluster = chosen.get("cluster", cluster)
    of_block = -(-vectors // cluster)
    # The next lower power of two, so that few threads are idle for other lengths; more threads if the registers
    # require.
    below, room = (1 << of_block.bit_length() - 1) // 2, next_power_of_two(-(-of_block // most_vectors))
    row_threads = chosen.get("row_threads", min(max(below, room), most_threads))
    rows = chosen.get("rows", 1 if cluster > 1 else max(BLOCK_THREADS // row_threads, 1))
    found = covering(vectors, row_threads, rows, cluster)
    if found.vectors > most_vectors or (cluster > 1 and row_threads < SMALLEST_CLUSTER_ROW):
        return None
    return found


def covering(vectors: int, row_threads: int, rows: int, cluster: int, per_unit: int = 0) -> Plan:
    """The launch whose threads have the fewest vectors that cover a row of `vectors`."""
    of_thread = -(-vectors // (row_threads * cluster))
    return Plan(row_threads, rows, cluster, of_thread, of_thread * row_threads * cluster == vectors, per_unit)


def most_vectors(arch: str, inputs: int) -> int:
    """Most vectors of a thread and input."""
    most = MOST_VECTORS // inputs
    return most if arch.startswith("sm_") else min(most, AMD_MOST_VECTORS // inputs)


@dataclass(frozen=True)
class Between:
    """The launch for rows of `fewest` to `most` vectors."""

    fewest: int
    most: int
    row_threads: int
    cluster: int
    preload: bool = False
    """Whether the weight is in registers together with the row."""


MEASURED_ROWS: Mapping[tuple[str, int], tuple[Between, ...]] = {
    ("rmsnorm", 2): (Between(1024, 1024, 512, 1),),
    ("rmsnorm", 4): (Between(4097, 8192, 1024, 1),),
    ("add_rmsnorm", 4): (Between(4097, 7168, 512, 1, preload=True),),
    ("layernorm", 2): (
        Between(385, 512, 128, 1, preload=True),
        Between(1024, 2048, 256, 1),
        Between(8192, 8192, 512, 4),
    ),
    ("layernorm", 4): (Between(1024, 1024, 256, 1), Between(4096, 4096, 512, 1), Between(4097, 8192, 1024, 1)),
    ("softmax", 2): (Between(2049, 4096, 256, 2), Between(8192, 8192, 256, 8)),
    ("softmax", 4): (Between(4096, 4096, 512, 1), Between(4097, 8192, 1024, 1)),
    ("softmax backward", 4): (Between(4097, 8192, 128, 4),),
}
"""Launches that are faster than `plan` on an H200, by op and size of an element; a block or a cluster has one row. At
16,384 rows, RMSNorm of 28,672 in float32 takes 898 instead of 1,179 µs, LayerNorm 1,024 instead of 1,284, LayerNorm of
8,192 in bfloat16 134 instead of 182, softmax of 28,672 in bfloat16 475 instead of 551. At 2,048 rows, LayerNorm of
65,536 in bfloat16 takes 199 instead of 305 µs, softmax 155 instead of 217; LayerNorm of 16,384 in float32 73 instead of
127, softmax 69 instead of 89."""

FEW_ROWS = 128
"""Up to so many rows, each has a multiprocessor of an H200 to itself, and the time of one row counts."""

MEASURED_FEW_ROWS: Mapping[tuple[str, int], tuple[Between, ...]] = {
    ("layernorm", 2): (
        Between(128, 128, 128, 1, preload=True),
        Between(1024, 2048, 256, 1, preload=True),
        Between(8192, 8192, 128, 8, preload=True),
    ),
    ("softmax", 2): (Between(128, 128, 128, 1), Between(2048, 2048, 128, 8)),
}
"""The same for few rows, measured at 1 and 32. At one row, LayerNorm of 16,384 in bfloat16 takes 5.7 instead of
8.6 µs."""


def nvidia_row(arch: str, op: str, rows: int, columns: int, itemsize: int) -> tuple[Plan, bool] | None:
    """The measured launch, and whether the weight is in registers; None if there is none, as on AMD GPUs."""
    if cluster_of(arch) == 1:
        return None
    count = -(-columns * itemsize // VECTOR_BYTES)
    few = MEASURED_FEW_ROWS.get((op, itemsize), ()) if rows <= FEW_ROWS else ()
    for between in (*few, *MEASURED_ROWS.get((op, itemsize), ())):
        if between.fewest <= count <= between.most:
            return covering(count, between.row_threads, 1, between.cluster), between.preload
    return None


def cluster_for(arch: str, columns: int, itemsize: int) -> int:
    """Blocks that share a row of the forward."""
    return cluster_of(arch) if columns * itemsize >= CLUSTERED_VECTORS * VECTOR_BYTES else 1


@dataclass(frozen=True)
class Longest:
    """The backward's launch for rows of up to `vectors` vectors."""

    vectors: int
    row_threads: int
    cluster: int
    per_unit: int


MEASURED: Mapping[tuple[str, int], tuple[Longest, ...]] = {
    ("rmsnorm", 2): (
        Longest(384, 256, 1, 4),
        Longest(512, 128, 1, 3),
        Longest(768, 128, 1, 2),
        Longest(1024, 256, 1, 1),
        Longest(2048, 512, 1, 1),
        Longest(4096, 512, 2, 1),
    ),
    ("rmsnorm", 4): (
        Longest(768, 128, 1, 3),
        Longest(1536, 256, 1, 2),
        Longest(4096, 512, 1, 1),
        Longest(8192, 128, 8, 16),
    ),
    ("add_rmsnorm", 2): (
        Longest(384, 128, 1, 4),
        Longest(512, 256, 1, 2),
        Longest(768, 128, 1, 2),
        Longest(1024, 256, 1, 1),
        Longest(2048, 512, 1, 1),
        Longest(4096, 64, 8, 16),
    ),
    ("add_rmsnorm", 4): (
        Longest(768, 128, 1, 3),
        Longest(1024, 256, 1, 2),
        Longest(1408, 128, 1, 2),
        Longest(2816, 256, 1, 1),
        Longest(4096, 64, 8, 16),
        Longest(8192, 128, 8, 8),
    ),
    ("layernorm", 2): (
        Longest(384, 128, 1, 4),
        Longest(512, 256, 1, 2),
        Longest(768, 128, 1, 2),
        Longest(2048, 512, 1, 1),
        Longest(4096, 128, 8, 8),
    ),
    ("layernorm", 4): (
        Longest(512, 256, 1, 3),
        Longest(768, 128, 1, 3),
        Longest(1536, 256, 1, 2),
        Longest(2048, 512, 1, 1),
        Longest(2816, 256, 1, 1),
        Longest(4096, 128, 4, 8),
        Longest(8192, 128, 8, 8),
    ),
}
"""The fastest launches of the backward on an H200, by op and size of an element, at 2,048 and 16,384 rows. Few threads
with many vectors load more at once, and few blocks have few partial gradients."""

FEWEST_MEASURED = 257
"""Vectors of a row from which on `MEASURED` is used."""


def nvidia_backward(arch: str, op: str, columns: int, itemsize: int) -> Plan | None:
    """The launch of a norm's backward on an NVIDIA GPU."""
    count = -(-columns * itemsize // VECTOR_BYTES)
    for longest in MEASURED.get((op, itemsize), ()):
        if FEWEST_MEASURED <= count <= longest.vectors and longest.cluster <= cluster_of(arch):
            return covering(count, longest.row_threads, 1, longest.cluster, longest.per_unit)
    found, cluster = plan(columns, itemsize, BACKWARD_VECTORS, 1, {}, WIDE_ROW_THREADS), 2
    while found is None and cluster <= cluster_of(arch):
        found = plan(columns, itemsize, CLUSTERED_MOST_VECTORS, cluster, {"row_threads": CLUSTERED_ROW_THREADS})
        cluster *= 2
    return found


def backward_teams(arch: str, found: Plan, rows: int, units: int) -> int:
    """Blocks or clusters of the backward, each of which has its own partial gradient of the weight."""
    per_unit = resident_workgroups(found.threads)
    if arch.startswith("sm_"):
        few = max(NVIDIA_BLOCKS, NVIDIA_THREADS // found.threads)
        per_unit = found.per_unit or (few if found.cluster == 1 else NVIDIA_CLUSTERED_BLOCKS)
    of_rows = -(-rows // (found.rows if found.cluster == 1 else CLUSTERED_ROWS))
    return min(of_rows, max(units * per_unit // found.cluster, 1))
