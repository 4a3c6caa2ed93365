"""The roofline of three operations: how much they must move and compute, and how long that takes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """Floating-point operations, and bytes if each input is read once and each output written once."""

    flops: float
    bytes: float


def rms_norm(rows: int, columns: int, itemsize: int) -> Work:
    """Square, add, and multiply by the scale and the weight: four operations per element."""
    return Work(4 * rows * columns, (2 * rows * columns + columns) * itemsize)


def matmul(m: int, n: int, k: int, itemsize: int) -> Work:
    """A product of [m, k] and [k, n]."""
    # hole: matmul
    return Work(..., ...)
    # end: matmul


def attention(
    batch: int, heads: int, kv_heads: int, queries: int, keys: int, width: int, itemsize: int
) -> Work:
    """Attention without a mask. The scores stay on the chip. Only `kv_heads` heads have keys and values."""
    # hole: attention
    return Work(..., ...)
    # end: attention


def floor_us(work: Work, peak: float, bandwidth: float) -> tuple[float, str]:
    """The shortest possible time in microseconds, and "memory" or "compute", whichever decides it."""
    # hole: floor
    return ..., "memory"
    # end: floor


def judge(us: float, work: Work, peak: float, bandwidth: float) -> str:
    """The share of the roofline, such as "47 % of the roofline (memory)", or "IMPOSSIBLE"."""
    # hole: judge
    return ...
    # end: judge
